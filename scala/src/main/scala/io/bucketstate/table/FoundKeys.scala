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

  /** What was learnt of a key; if nothing was, what `look` gives, null if the key is not there, and it is learnt. */
  def orLearn(key: RecordBuffer)(look: => Array[Byte]): Array[Byte] = {
    val own = new Key(key.hash, key.toKeyRecord)
    val known = answers.get(own)
    if (known != null) known.record
    else {
      val record = look
      if (room > 0) {
        room -= 1
        answers.put(own, if (record == null) Absent else new Answer(record))
      }
      record
    }
  }

  /** The same, and nothing is learnt. */
  def orElse(key: RecordBuffer)(look: => Array[Byte]): Array[Byte] = {
    val known = if (isEmpty) null else answers.get(new Key(key.hash, key.toKeyRecord))
    if (known != null) known.record else look
  }

  def isEmpty: Boolean = answers.isEmpty

  /** Calls with the records that were found. */
  def foreachRecord(use: Array[Byte] => Unit): Unit =
    answers.values.forEach(answer => if (answer.record != null) use(answer.record))
}

private object FoundKeys {

  /** @param record null for a key that is not there */
  private final class Answer(val record: Array[Byte])

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
