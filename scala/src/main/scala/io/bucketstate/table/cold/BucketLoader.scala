package io.bucketstate.table.cold

import io.bucketstate.record.{ColdState, RecordBuffer, RecordSink, TimeBuckets}

/**
 * Where a table takes the buckets from that are not in memory yet: each is loaded once, when it is first
 * touched, by whichever thread that is. Safe for several threads.
 */
trait BucketLoader {

  /** Keys of a family at the table's base version, None if nobody has counted them. */
  def keyCount(family: Int): Option[Long]

  /**
   * Whether it is known that a family has no keys, neither at the table's base version nor in [[cold]]: where keys were
   * removed since that, a bucket without keys is not one without a past.
   */
  def isEmpty(family: Int): Boolean =
    keyCount(family).contains(0L) && cold.forall(_.keyCount(family).contains(0L))

  /** The time buckets of a family at the table's base version, where its records have times. */
  def times(family: Int): Option[TimeBuckets]

  /** The state that the changes are made to, if that is not the empty one. */
  def cold: Option[ColdState]

  /**
   * Hands out what the versions after [[cold]] changed in a bucket, up to the table's base, oldest first. When
   * it throws `UnavailableException` it may be asked again, for all of the bucket; after anything else the
   * table is of no use any more and has to be loaded anew.
   */
  def changes(family: Int, bucket: Int, sink: RecordSink): Unit

  /**
   * The record of one key at the table's base version, or null. Only for keys of buckets that were not
   * handed out, and not while theirs is.
   */
  def find(family: Int, key: RecordBuffer): Array[Byte]

  /**
   * Sees to it that every byte which the table was made of has been verified, those included that nobody has
   * read yet. Waits for that; throws what is wrong, or `UnavailableException`, after which it may be called
   * again.
   */
  def verifyRest(): Unit

  /** Heap that it holds of what was not loaded yet, in bytes. */
  def heldBytes: Long

  /**
   * All buckets of a family were loaded, and whole, and hold so many keys; throws when they should hold others, if that is
   * known.
   */
  def verify(family: Int, keys: Long): Unit

  /**
   * All buckets of a family were loaded, or no version has it any more: its changes are not needed again. May be told more
   * than once.
   */
  def loaded(family: Int): Unit
}

object BucketLoader {

  /** The loader of the empty store. */
  object Empty extends BucketLoader {
    override def keyCount(family: Int): Option[Long] = Some(0L)
    override def times(family: Int): Option[TimeBuckets] = None
    override def cold: Option[ColdState] = None
    override def changes(family: Int, bucket: Int, sink: RecordSink): Unit = ()
    override def find(family: Int, key: RecordBuffer): Array[Byte] = null
    override def verifyRest(): Unit = ()
    override def heldBytes: Long = 0L
    override def verify(family: Int, keys: Long): Unit = ()
    override def loaded(family: Int): Unit = ()
  }
}
