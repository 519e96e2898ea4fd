package io.bucketstate.table.cold

import java.util.TreeMap
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.LongAdder

import scala.collection.mutable

import io.bucketstate.record.{BucketAssigner, ColdState, FamilySpec, KeyRange, RecordBuffer}
import io.bucketstate.table.bucket.{Bucket, BucketBuilder, FilledBucket}
import io.bucketstate.table.entry.{Entry, Slots}
import io.bucketstate.table.index.FamilyIndex

/**
 * What a family asks of the cold part, and the removals that it must not forget because of it. Whoever asks has
 * found that the bucket is not whole and holds nothing of the key.
 *
 * Threads: the removals are the writer's, all else anybody's.
 */
private[table] final class FamilyCold(
    spec: FamilySpec,
    assigner: BucketAssigner,
    floor: Floor,
    loading: TableLoading
) {
  @volatile private[this] var found = new FoundKeys(0, loading.mayKeep) // of this floor and version
  private[this] var usual = 0 // answers of a version
  private[this] val removals = new TreeMap[Int, mutable.ArrayBuffer[Entry]]() // by version
  private[this] var kept = 0 // of those
  private[this] var lastKept: mutable.ArrayBuffer[Entry] = _ // of those, where the last one went
  private[this] var lastKeptOf = 0
  private[this] val loaded = new ConcurrentLinkedQueue[Entry] // to be among them
  private[this] val finds = new LongAdder

  /** The record of a key, or null. */
  def find(key: RecordBuffer): Array[Byte] = {
    finds.increment()
    asking(_.find(spec.id, key))
  }

  /** The record of a key at the version that the table is loaded with, before anything of its bucket is in memory. */
  def findFirst(key: RecordBuffer): Array[Byte] = {
    finds.increment()
    soundly(loading.loader.find(spec.id, key))
  }

  /** How often a single key was looked up. */
  def lookUps: Long = finds.sum

  /** The record of a key that may be written next: it is kept, so that it need not be looked up again then. */
  def findAndKeep(key: RecordBuffer): Array[Byte] = {
    // Taken before the cold part is asked: a higher floor and the next version come with another one.
    val ours = found
    ours.orLearn(key)(find(key))
  }

  /** The record of a key that is about to be written: memory knows it from then on. */
  def findOnce(key: RecordBuffer): Array[Byte] =
    found.orElse(key)(find(key))

  /** The record of a key if it was looked up before, else [[Slots.Unknown]] if it may be there. Reads no record. */
  def ruleOutOnce(key: RecordBuffer): Array[Byte] =
    found.orElse(key)(if (mayHold(key)) Slots.Unknown else null)

  private def mayHold(key: RecordBuffer): Boolean = asking(_.mayHold(spec.id, key))

  /** Hands over the records that the open version has found and whose keys it has not written. */
  def takeFound(use: Array[Byte] => Unit): Unit = {
    val taken = found
    // Batches are of about the same size.
    usual = taken.size
    forgetFound()
    taken.foreachUnwritten(use)
  }

  /** What was found before is of another version, or floor, than what follows. */
  def forgetFound(): Unit = found = new FoundKeys(usual, loading.mayKeep)

  /** Heap of what was found. */
  def heap: Long = found.heap

  /**
   * A bucket as the cold part has it, and the floor that it is of. Any thread.
   *
   * @param newIndex makes its index, null if it needs none
   */
  def bucketAtFloor(number: Int, newIndex: () => FamilyIndex): FilledBucket = asking { cold =>
    val expected = BucketBuilder.expected(cold.keyCount(spec.id), assigner.numBuckets)
    val filling = new BucketBuilder(number, spec, assigner, newIndex, times = null, expected)
    cold.scan(spec.id, number, filling)
    filling.done()
    new FilledBucket(cold.version, filling.bucket)
  }

  /** A bucket as the cold part has it, without the keys of some slots. */
  def bucketWithout(number: Int, decided: Iterable[AnyRef]): Bucket = {
    val rest = bucketAtFloor(number, newIndex = null).bucket
    val key = new RecordBuffer(assigner)
    decided.foreach { slot =>
      key.keyOf(Slots.recordOf(slot), 0, spec.bucketKey)
      val i = rest.indexOf(key)
      if (i >= 0) rest.free(i)
    }
    rest
  }

  /**
   * What the cold part has of some keys of a bucket, ascending, at most so much, each record as `known` turns it
   * into what memory knows of its key. Any thread.
   */
  def range(
      number: Int,
      keys: KeyRange,
      most: Int,
      known: Array[Byte] => AnyRef
  ): Array[AnyRef] = {
    val found = mutable.ArrayBuffer.empty[AnyRef]
    var isOfNow = false
    // The writer frees what only a higher floor makes needless after it has published that: so if there is none yet,
    // memory had all that is newer.
    while (!isOfNow) {
      found.clear()
      val version = asking { cold =>
        cold.range(spec.id, number, keys, most) { record => found += record; () }
        cold.version
      }
      found.mapInPlace(record => known(record.asInstanceOf[Array[Byte]]))
      isOfNow = floor.version == version
    }
    found.toArray
  }

  /** The cold part still has the key of this removal: its entry stays until the floor has passed it. */
  def keep(removal: Entry): Unit = {
    removal.position = Entry.Kept
    // Those of a version come after one another.
    if (lastKept == null || removal.version != lastKeptOf) {
      lastKeptOf = removal.version
      lastKept = removals.computeIfAbsent(lastKeptOf, _ => mutable.ArrayBuffer.empty)
    }
    lastKept += removal
    kept += 1
  }

  /** How many removals are kept. */
  def hidden: Int = kept

  /** Keeps the removals that a bucket was loaded with, as [[keep]] does. Any thread. */
  def keepLoaded(entries: Seq[Entry]): Unit = entries.foreach(loaded.add)

  /** There is a higher floor: what was kept because of the one before. Gives the removals that may go now. */
  def raised(): Array[Entry] = {
    forgetFound()
    Iterator.continually(loaded.poll()).takeWhile(_ != null).foreach(keep)
    val passed = removals.headMap(floor.stamp, true)
    val due = mutable.ArrayBuffer.empty[Entry]
    passed.values.forEach(entries => due ++= entries)
    passed.clear()
    kept -= due.size
    lastKept = null // may be among them
    due.toArray
  }

  private def asking[A](ask: ColdState => A): A = soundly(floor.reading(ask))

  private def soundly[A](read: => A): A = loading.telling {
    loading.requireSound()
    loading.guarded(read)
  }
}
