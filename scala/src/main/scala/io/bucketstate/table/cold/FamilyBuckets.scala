package io.bucketstate.table.cold

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong}

import io.bucketstate.record.{BucketAssigner, FamilySpec, RecordBuffer, TimeBuckets}
import io.bucketstate.table.bucket.{Bucket, BucketBuilder}
import io.bucketstate.table.index.{FamilyIndex, PublishedRefs}

/**
 * The buckets of one family: those in memory, and the way to those that are not. Whoever comes to a missing
 * one first loads it, others wait for that one. Thread-safe; a bucket itself has one writer.
 *
 * @param mostBytes that a key and the values that were appended to it may take
 */
private[table] final class FamilyBuckets(
    spec: FamilySpec,
    assigner: BucketAssigner,
    newIndex: () => FamilyIndex,
    cold: FamilyCold,
    floor: Floor,
    loading: TableLoading,
    mostBytes: Int
) {
  private[this] val numBuckets = assigner.numBuckets
  private[this] val buckets = new PublishedRefs[Bucket](numBuckets) // null: not loaded
  private[this] val searched =
    new Array[Boolean](numBuckets) // each guarded by the lock of its bucket
  private[this] val missing = new AtomicInteger(numBuckets) // of those
  private[this] val notWholeNow = new AtomicInteger
  private[this] val loadedKeys = new AtomicLong
  private[this] val uses = new Array[Int](numBuckets)
  @volatile private[this] var areCounted = true // all that were loaded came whole

  @volatile private[this] var atFirst = loading.loader.keyCount(spec.id)

  /**
   * Keys when nothing was written yet: as the files say, or else as they were loaded, once all of them are. Any thread.
   */
  def initialKeys: Option[Long] = atFirst

  /** The time buckets when nothing was written yet, null where records do not expire. */
  val initialTimes: TimeBuckets =
    if (spec.expiry.isEmpty) null
    else
      // Nobody reads how many there are where they are yet to be counted.
      loading.loader
        .times(spec.id)
        .getOrElse(TimeBuckets.ofUntimed(initialKeys.getOrElse(0L)))

  if (loading.loader.isEmpty(spec.id)) {
    (0 until numBuckets).foreach(n =>
      buckets.setPlain(n, new Bucket(newIndex, isTimed = spec.expiry.isDefined))
    )
    missing.set(0)
  }

  /** Whether the loader is not needed any more. */
  def isLoaded: Boolean = missing.get == 0

  def isResident: Boolean = isLoaded && notWhole == 0

  /** A bucket that was whole, or not loaded, is there in part. */
  def notWholeAnyMore(): Unit = {
    notWholeNow.incrementAndGet()
    ()
  }

  /** A bucket that was not is whole. */
  def wholeAgain(): Unit = {
    notWholeNow.decrementAndGet()
    ()
  }

  /** Buckets of which a part is there. */
  def notWhole: Int = notWholeNow.get

  /** A bucket is in use at a version, counted from the table's base. Any thread; of two at once one may be lost. */
  def use(number: Int, version: Int): Unit = if (uses(number) < version) uses(number) = version

  /** The highest version, counted from the table's base, that a bucket was in use at. */
  def lastUse(number: Int): Int = uses(number)

  /** The bucket if it is in memory, else null. */
  def loaded(number: Int): Bucket = buckets.getAcquire(number)

  /** The bucket, of which the caller knows that it is in memory. */
  def known(number: Int): Bucket = buckets.getPlain(number)

  /** The bucket, loaded if need be. */
  def touched(number: Int): Bucket = {
    val there = buckets.getAcquire(number)
    if (there != null) there else loading.touching(fetched(number))
  }

  /** Sees to it that a bucket is in memory; true if it was not. Throws what the storage throws. */
  def load(number: Int): Boolean = {
    val wasMissing = buckets.getAcquire(number) == null
    if (wasMissing) fetch(number, mustBeWhole || hasRoom)
    wasMissing
  }

  /** All buckets, those that are not in memory loaded at once: somebody waits for them. */
  def allTouched: IndexedSeq[Bucket] = {
    if (!isLoaded) {
      loading.all { number => if (loaded(number) == null) fetched(number); () }
      loading.use()
    }
    (0 until numBuckets).map(touched)
  }

  /**
   * The record of a key whose bucket is not in memory, if it is the first that is asked for: it is looked up in
   * the files, so that it need not wait for the bucket. Nothing newer can be known of the key: a write would
   * have loaded the bucket.
   *
   * @return null if there is no such key, [[FamilyBuckets.InBucket]] if the bucket has to be asked
   */
  def findFirst(key: RecordBuffer): Array[Byte] = {
    val found = loading.alone(key.bucket) {
      if (buckets.getAcquire(key.bucket) != null || searched(key.bucket)) FamilyBuckets.InBucket
      else {
        searched(key.bucket) = true
        cold.findFirst(key)
      }
    }
    loading.use()
    found
  }

  /** Heap of all that the buckets hold, an estimate. */
  def heap: Long = {
    var bytes = 0L
    var b = 0
    while (b < numBuckets) {
      val bucket = buckets.getAcquire(b)
      if (bucket != null) bytes += bucket.heap
      b += 1
    }
    bytes
  }

  private def mustBeWhole: Boolean = loading.loader.cold.isEmpty

  /**
   * Whether a bucket is loaded whole rather than asked key by key. It is, where there is room, for a family that is
   * scanned by parts of keys: filters say nothing of those, so each scan would have to ask all runs. And so it is for
   * lists: what was appended to a key is of use only together with all that the key has.
   */
  private def isWorthIt: Boolean = if (newIndex != null || spec.multiValued) hasRoom else areSmall

  /** Where there is no room for all that is not there, it would only be loaded to leave again. */
  def hasRoom: Boolean = hasRoomBeside(0L)

  /** @param read bytes of it that are in memory and counted */
  def hasRoomBeside(read: Long): Boolean =
    loading.hasRoom(Math.max(0L, bytesOf(missing.get + notWhole) - read))

  /** Whether a bucket is loaded about as quickly as a few keys of it are looked up. */
  private def areSmall: Boolean = bytesOf(1) <= FamilyBuckets.SmallBytes && hasRoom

  private def fetched(number: Int): Bucket = fetch(number, mustBeWhole || isWorthIt)

  private def bytesOf(buckets: Int): Long =
    (floor.wholeBytes.toDouble * buckets / numBuckets).toLong

  private def fetch(number: Int, whole: Boolean): Bucket = loading.alone(number) {
    val there = buckets.getAcquire(number)
    if (there != null) there
    else {
      loading.requireSound()
      val filling =
        new BucketBuilder(
          number,
          spec,
          assigner,
          newIndex,
          initialTimes,
          expected(whole),
          whole,
          mostBytes
        )
      loading.guarded {
        fill(number, filling, whole)
        filling.done()
        if (whole) loadedKeys.addAndGet(filling.keys) else areCounted = false
        // Everybody adds before counting down, so the last one sees all keys.
        if (missing.decrementAndGet() == 0) {
          if (areCounted) {
            loading.loader.verify(spec.id, loadedKeys.get)
            atFirst = Some(loadedKeys.get)
          }
          loading.loader.loaded(spec.id)
        }
      }
      if (!whole) notWholeAnyMore()
      buckets.setRelease(number, filling.bucket)
      // Only now: the writer settles what is kept, and then looks for it in the bucket.
      cold.keepLoaded(filling.removals)
      filling.bucket
    }
  }

  /** Keys that a bucket will have, about. */
  private def expected(whole: Boolean): Int =
    if (whole) BucketBuilder.expected(initialKeys, numBuckets) else 0

  private def fill(number: Int, filling: BucketBuilder, whole: Boolean): Unit = {
    if (whole) loading.loader.cold.foreach(_.scan(spec.id, number, filling))
    filling.changesOf(loading.loader.cold)
    loading.loader.changes(spec.id, number, filling)
  }
}

private[table] object FamilyBuckets {

  /** A bucket is small up to so many bytes of heap: some thousand keys, loaded in the time of some hundred look-ups. */
  private final val SmallBytes = 512L << 10

  /** No record. */
  val InBucket: Array[Byte] = Array.emptyByteArray
}
