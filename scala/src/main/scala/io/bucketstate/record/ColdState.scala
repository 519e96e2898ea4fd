package io.bucketstate.record

/**
 * The whole state at one version, the *floor*, outside a table's memory. A table that holds only a part of a
 * bucket asks it for the rest.
 *
 * What every implementation guarantees; `ColdStateContract` holds them to it:
 *
 *  1. It never changes: whoever asks it twice gets the same answer, or an error.
 *  2. [[find]] gives the record of a key that is there at [[version]], with all its values, and null for one
 *     that is not; families it does not know have no keys.
 *  3. [[scan]] hands out, of one bucket, what makes an empty bucket hold just the keys that `find` finds.
 *  4. [[range]] hands out, of one bucket, the first records by the bytes of their keys that `find` finds between two
 *     keys, ascending.
 *  5. [[keyCount]] is the number of keys that all buckets of a family hold together, if it was counted.
 *  6. Any thread may ask, several at a time; whoever asks may have to wait for storage.
 *  7. What cannot be read is an error, never an answer: `UnavailableException` where asking again may help,
 *     anything else where it will not.
 *  8. [[mayHold]] is never false for a key that `find` finds. It reads no records.
 *  9. After [[release]] nobody asks: what is held for this version alone is let go.
 */
trait ColdState {

  /** The floor. */
  def version: Long

  /** Keys of a family, None if nobody has counted them. */
  def keyCount(family: Int): Option[Long]

  /** About the heap that all of it takes in memory, in bytes. */
  def wholeBytes: Long

  /** The record of one key, or null. */
  def find(family: Int, key: RecordBuffer): Array[Byte]

  /** False only for a key that is not there. Of files it reads filters, each once. */
  def mayHold(family: Int, key: RecordBuffer): Boolean

  /** Hands out what a bucket holds, as changes to an empty bucket, oldest first. */
  def scan(family: Int, bucket: Int, sink: RecordSink): Unit

  /** Hands out records of a bucket, `most` at most. */
  def range(family: Int, bucket: Int, keys: KeyRange, most: Int)(sink: Array[Byte] => Unit): Unit

  /** Nobody asks any more. Called once at most, by the table that was advanced to it. Must not wait. */
  def release(): Unit
}
