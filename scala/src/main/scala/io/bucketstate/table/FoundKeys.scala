package io.bucketstate.table

import java.util.concurrent.ConcurrentHashMap

/**
 * What the cold part of one floor said of single keys: of those that a batch has asked for, until it ends.
 * Thread-safe: the task that writes may look keys up in another thread.
 */
private[table] final class FoundKeys {
  import FoundKeys._

  private[this] val answers = new ConcurrentHashMap[Key, Answer]
  @volatile private[this] var room = Most // of several threads one may lose count: no harm

  /** What was learnt of a key; null if nothing was. */
  def of(key: RecordBuffer): Answer =
    if (answers.isEmpty) null else answers.get(new Key(key.hash, key.toKeyRecord))

  /** @param record null if the key is not there */
  def learn(key: RecordBuffer, record: Array[Byte]): Unit = if (room > 0) {
    room -= 1
    answers.put(
      new Key(key.hash, key.toKeyRecord),
      if (record == null) Absent else new Answer(record)
    )
    ()
  }

  def isEmpty: Boolean = answers.isEmpty

  /** Calls with the records that were found. */
  def foreachRecord(use: Array[Byte] => Unit): Unit =
    answers.values.forEach(answer => if (answer.record != null) use(answer.record))
}

private[table] object FoundKeys {

  /** @param record null for a key that is not there */
  final class Answer(val record: Array[Byte])

  /** What is not learnt is looked up again: a batch must not keep all that it ever asked for. */
  private final val Most = 1 << 18

  private val Absent = new Answer(null)

  private final class Key(override val hashCode: Int, val bytes: Array[Byte]) {
    override def equals(other: Any): Boolean = other match {
      case that: Key => java.util.Arrays.equals(bytes, that.bytes)
      case _         => false
    }
  }
}
