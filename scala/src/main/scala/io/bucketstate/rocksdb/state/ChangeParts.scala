package io.bucketstate.rocksdb.state

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.rocksdb.state.ChangeParts.Change

/**
 * Changes on their way from storage into a database. They come together outside of it and are written in parts, so that whoever
 * closes the database waits for no read of storage. For one thread.
 *
 * @param write one change
 */
final class ChangeParts(database: StateDatabase, write: (StateChanges, Change) => Unit) {
  import ChangeParts._

  private[this] val part = ArrayBuffer.empty[Change]
  private[this] var bytes = 0L

  /** Keeps the change until it is written. */
  def add(change: Change): Unit = {
    part += change
    bytes += change.record.length.toLong
    if (bytes >= PartBytes) flush()
  }

  /** Writes what has come since the last part. */
  def flush(): Unit = if (part.nonEmpty) {
    database.change(changes => part.foreach(write(changes, _)))
    part.clear()
    bytes = 0L
  }
}

object ChangeParts {

  /** That are in memory at a time. */
  private final val PartBytes = 4L << 20

  /** @param record nobody changes it any more */
  final case class Change(family: Int, bucket: Int, op: Byte, record: Array[Byte])
}
