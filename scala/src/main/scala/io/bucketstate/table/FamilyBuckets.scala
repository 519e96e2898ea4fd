package io.bucketstate.table

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong, AtomicReferenceArray}

import io.bucketstate.bucket.BucketAssigner

/**
 * The buckets of one family: those in memory, and the way to those that are not. Whoever comes to a missing
 * one first loads it, others wait for that one. Thread-safe; a bucket itself has one writer.
 */
private[table] final class FamilyBuckets(
    spec: FamilySpec,
    assigner: BucketAssigner,
    index: FamilyIndex,
    loading: TableLoading
) {
  private[this] val numBuckets = assigner.numBuckets
  private[this] val buckets = new AtomicReferenceArray[Bucket](numBuckets) // null: not loaded
  private[this] val searched =
    new Array[Boolean](numBuckets) // each guarded by the lock of its bucket
  private[this] val missing = new AtomicInteger(numBuckets) // of those
  private[this] val evictedNow = new AtomicInteger // buckets that are not whole
  private[this] val loadedKeys = new AtomicLong
  private[this] val loadedBytes = new AtomicLong

  /** Keys when nothing was written yet, counted exactly. */
  val initialKeys: Long = loading.loader.keyCount(spec.id)

  if (initialKeys == 0) {
    (0 until numBuckets).foreach(buckets.setPlain(_, new Bucket(index)))
    missing.set(0)
  }

  /** Whether the loader is not needed any more. */
  def isLoaded: Boolean = missing.get == 0

  def isResident: Boolean = isLoaded && evictedNow.get == 0

  /** A bucket is not whole any more. */
  def evicted(): Unit = {
    evictedNow.incrementAndGet()
    ()
  }

  /** A bucket is whole again. */
  def filled(): Unit = {
    evictedNow.decrementAndGet()
    ()
  }

  /** The bucket if it is in memory, else null. */
  def loaded(number: Int): Bucket = buckets.getAcquire(number)

  /** The bucket, of which the caller knows that it is in memory. */
  def known(number: Int): Bucket = buckets.getPlain(number)

  /** The bucket, loaded if need be. */
  def touched(number: Int): Bucket = {
    val there = buckets.getAcquire(number)
    if (there != null) there else loading.touching(fetch(number))
  }

  /** Sees to it that a bucket is in memory; true if it was not. Throws what the storage throws. */
  def load(number: Int): Boolean = {
    val wasMissing = buckets.getAcquire(number) == null
    if (wasMissing) fetch(number)
    wasMissing
  }

  /** The same for one bucket, or for all if there is none of that number; somebody waits for them. */
  def loadFor(number: Int): Unit =
    if (!isLoaded) {
      if (number >= 0) loading.telling(load(number))
      else loading.all { number => load(number); () }
      loading.use()
    }

  /**
   * The record of a key whose bucket is not in memory. The first one asked for is looked up in the files, so
   * that it need not wait for the bucket. Nothing newer can be known of the key: a write would have loaded
   * the bucket.
   *
   * @param at version counted from the table's base
   */
  def find(key: RecordBuffer, at: Int): Array[Byte] = {
    val found = loading.lockOf(key.bucket).synchronized {
      if (buckets.getAcquire(key.bucket) == null && !searched(key.bucket)) {
        searched(key.bucket) = true
        loading.telling {
          loading.requireSound()
          loading.guarded(loading.loader.find(spec.id, key))
        }
      } else Visibility.record(touched(key.bucket).head(key), at)
    }
    loading.use()
    found
  }

  /** Heap of what was loaded and of all slots, an estimate. */
  def heap: Long = {
    var slots = 0L
    var b = 0
    while (b < numBuckets) {
      val bucket = buckets.getAcquire(b)
      if (bucket != null) slots += bucket.heap
      b += 1
    }
    slots + loadedBytes.get
  }

  private def fetch(number: Int): Bucket = loading.lockOf(number).synchronized {
    val there = buckets.getAcquire(number)
    if (there != null) there
    else {
      loading.requireSound()
      val filling = new BucketFilling(number, spec.bucketKey, assigner, index)
      loading.guarded {
        try loading.loader.load(spec.id, number, filling)
        catch {
          case failure: Throwable =>
            filling.discard()
            throw failure
        }
        loadedKeys.addAndGet(filling.keys)
        // Everybody adds before counting down, so the last one sees all keys.
        if (missing.decrementAndGet() == 0) loading.loader.verify(spec.id, loadedKeys.get)
      }
      loadedBytes.addAndGet(filling.bytes)
      buckets.setRelease(number, filling.bucket)
      filling.bucket
    }
  }
}
