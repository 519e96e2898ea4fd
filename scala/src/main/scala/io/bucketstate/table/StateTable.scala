package io.bucketstate.table

import io.bucketstate.record.{BucketResidence, ChangeSet, ColdState, FamilySpec, RecordBuffer}
import io.bucketstate.table.scan.RecordScan

/**
 * One column family of a [[StateTable]]. `at` is a version: readers pass the version they opened,
 * the writer passes the table's open version and sees its own changes.
 *
 * A bucket that was never loaded is when it is touched: what changed since the cold part. Where one is not whole, the keys
 * that memory does not know are asked of the cold part; what the writer finds so stays in memory, a scan leaves all as it
 * is. When that fails, the table's host says what is thrown; unless the storage was just not available, the table is broken
 * from then on (see [[StateTable.isSound]]) and no other bucket is loaded.
 *
 * Threads: `put`, `merge`, `remove` and `removeRange` belong to the one writer; all else to any thread.
 */
trait FamilyState {
  def spec: FamilySpec

  def numBuckets: Int

  /**
   * The record of the key in `key` at a version, or null. Allocates nothing, unless the key has several
   * values that were appended one after another.
   */
  def get(key: RecordBuffer, at: Long): Array[Byte]

  /**
   * The records of several keys at a version, null for those that are not there. What is not in memory is read side by
   * side, see [[TableHost.forEach]].
   *
   * @param keys records of keys alone
   */
  def getAll(keys: Array[Array[Byte]], at: Long): Array[Array[Byte]]

  /** Whether the key exists at a version. Allocates nothing. */
  def contains(key: RecordBuffer, at: Long): Boolean

  /** Writes key and value of `record` at the open version; the buffer is copied. Reads no value to store one. */
  def put(record: RecordBuffer): Unit

  /** Appends the value of `record` to what its key has at the open version; O(appended). */
  def merge(record: RecordBuffer): Unit

  /** Removes the key at the open version; does nothing if it is known not to exist. */
  def remove(key: RecordBuffer): Unit

  /** Removes the keys of a family that serves ranges from `from` on and below `until`. O(removed). */
  def removeRange(from: Array[Byte], until: Array[Byte]): Unit

  /**
   * All records at a version, in no order. This and the scans below give what was there when they began: also of the
   * open version, whatever is put, written over or removed while they go on.
   */
  def records(at: Long): RecordScan

  /** The records of one bucket at a version, in no order. */
  def recordsOf(bucket: Int, at: Long): RecordScan

  /**
   * The records whose key starts with `prefix` at a version: in byte order of their keys where the family
   * serves ranges, else perhaps in no order. Where a part of a key decides its bucket, the prefix is all of such a part,
   * and none of them starts with another, as Spark's encoders see to.
   */
  def prefixed(prefix: Array[Byte], at: Long): RecordScan

  /**
   * The records whose key is not below `from` and is below `until`, either null for no such bound, at a
   * version and in byte order of their keys. Touches no other key.
   */
  def ranged(from: Array[Byte], until: Array[Byte], at: Long): RecordScan

  /**
   * Keys at the newest version, the writer's changes included, None if it is not known how many: keys were written that
   * nobody looked up. The writer's.
   */
  def keyCount: Option[Long]

  /** What expired with the open version, or else with the newest. The writer's. */
  def expiry: ExpiryFigures

  /**
   * Start of the time bucket, as [[TimedValue]] has it, of what is written now, where records age by processing time.
   * The writer's.
   */
  def writeTime: Long

  /** Whether all buckets are in memory, and whole. */
  def isResident: Boolean

  /** Whether all buckets were loaded: the files the table was made of are not needed. Once true it stays true. */
  def isLoaded: Boolean

  /**
   * Sees to it that a bucket is loaded before somebody touches it, and whole if there is room; true if it was not
   * there. Throws what the storage throws. Any thread.
   */
  def load(bucket: Int): Boolean

  /** Whether there are buckets that are not whole, and room for all of them. Any thread; cheap. */
  def canFill: Boolean

  /**
   * Reads what the cold part has of a bucket that is not whole, if that is possible: with one of the next versions that
   * are opened it becomes whole. True if it was read. Throws what the storage throws. Any thread.
   */
  def fill(bucket: Int): Boolean

  /**
   * Whether its buckets are loaded whole at once where there is room, because to look up what is asked for would take
   * longer.
   */
  def loadsWhole: Boolean

  /**
   * Lets go of what a bucket holds that the cold part has, too: it is not whole from then on. Changes no answer at
   * any version. What has not settled stays, see [[StateTable.settle]]. Does nothing without a cold part. O(keys of
   * the bucket). The writer's.
   *
   * @return bytes of heap that are free now; less than 0 where there was hardly anything to let go of
   */
  def evict(bucket: Int): Long

  /** What is known of the parts in memory of the buckets that are there. The writer's. */
  def residences: Seq[BucketResidence]

  /** Buckets in memory that are not whole. Any thread. */
  def notWhole: Int

  /** How often a single key was looked up in the cold part. Any thread. */
  def lookUps: Long
}

/**
 * The state of one store in memory, at several versions at once.
 *
 * Versions: `newest` is the last one checkpointed; at most one version above it is open for writing.
 * Every version from `oldest` to `newest` can be read, and every one can become the newest again.
 *
 * Threads: at most one writer calls the methods that change the table; the provider sees to that.
 */
trait StateTable {

  /** The newest version whose changes are complete. */
  def newest: Long

  /** The oldest version that can still be read or rolled back to. */
  def oldest: Long

  /** The families at the newest version, or at the open one, in ascending order of their numbers. */
  def families: IndexedSeq[FamilyState]

  /** The families at a version from `oldest` to the open one. Any thread. */
  def familiesAt(version: Long): IndexedSeq[FamilyState]

  /** The number the next new family gets. */
  def nextFamily: Int

  /**
   * The family of that number; if it does not exist, it is added to the open version, or to the newest if
   * none is open.
   */
  def family(spec: FamilySpec): FamilyState

  /** Takes a family away from the open version, with all its keys. O(1). */
  def removeFamily(id: Int): Unit

  /**
   * Opens `newest + 1` for writing, after giving up the versions below `keepFrom`. O(1), and O(time buckets) where
   * records expire.
   *
   * @param now seconds since 1970, of use where records age by processing time
   */
  def begin(keepFrom: Long, now: Long = 0L): Unit

  /** Whether a version is open for writing. */
  def isOpen: Boolean

  /** The changes of the open version so far. O(changes). */
  def openChanges: ChangeSet

  /** The open version is durable: it becomes the newest. O(column families). */
  def commit(): Unit

  /** Undoes the open version. O(changes). Does nothing if none is open. */
  def abort(): Unit

  /** Undoes every version above `version`, which must not be below `oldest`. O(changes undone). */
  def rollBackTo(version: Long): Unit

  /** How often a bucket had to be loaded because it was touched. */
  def lazyLoads: Long

  /** Whether all buckets of all families are in memory, and whole: what is read then is read from memory alone. */
  def isResident: Boolean

  /** Whether all buckets of all families were loaded. Once true it stays true until a family is added. */
  def isLoaded: Boolean

  /**
   * The state at a version that was committed by this table, or that it began with, lies outside memory, too: from
   * some later `begin` on, when nothing below that version can be read any more, buckets need not be whole. Any
   * thread, but not beside `rollBackTo`.
   *
   * @return false if it is of no use, because there is a newer one
   */
  def advance(cold: ColdState): Boolean

  /**
   * Does at once what is otherwise done a little at a time beside writes: what only versions wrote that nobody can go
   * back behind gives up what it stands on, and can be evicted. O(what these versions changed). The writer's.
   */
  def settle(): Unit

  /**
   * Evicts buckets beside later writes, as [[FamilyState.evict]] does, one with some of them: what is due of an earlier
   * call is forgotten. O(1). The writer's.
   *
   * @param order in which they go
   * @param bytes once so many are free the rest stays
   * @param freed is told of each, by whoever writes then
   */
  def evictLater(order: IndexedSeq[BucketResidence], bytes: Long)(freed: Long => Unit): Unit

  /** What [[advance]] was given and may still be read, now or later. Any thread. */
  def coldParts: Seq[ColdState]

  /**
   * Whether every bucket can still be had, and each change was made whole: false once the loading of a bucket, or a write,
   * commit, abort or roll-back failed half-way, and for ever. No version is opened then.
   */
  def isSound: Boolean

  /**
   * Throws unless it is sound, and made of bytes that have all been verified: to be called before anything
   * is committed on top of it. Waits for what is not verified yet.
   */
  def requireVerified(): Unit

  /** Nobody opens versions of it any more: what is loaded ahead of its use is of no use. Any thread. */
  def abandon(): Unit

  def isAbandoned: Boolean

  /** Heap the state takes, estimated from counts kept while it changes. O(buckets). */
  def memoryBytes: Long
}

/**
 * How the records of a family age in one version.
 *
 * @param expired     keys that expired when it was opened
 * @param late        writes of keys that were not there, with times that had expired already: they were dropped
 * @param timeBuckets that hold keys
 */
final case class ExpiryFigures(expired: Long, late: Long, timeBuckets: Int) {
  def +(other: ExpiryFigures): ExpiryFigures =
    ExpiryFigures(expired + other.expired, late + other.late, timeBuckets + other.timeBuckets)
}

object ExpiryFigures {
  val None: ExpiryFigures = ExpiryFigures(0L, 0L, 0)
}
