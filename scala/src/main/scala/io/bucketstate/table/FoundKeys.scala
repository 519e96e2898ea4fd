package io.bucketstate.table

import java.util.concurrent.ConcurrentHashMap

/**
 * What the cold part of one floor said of single keys: of those that a batch has asked for, until it ends.
 * Thread-safe: the task that writes may look keys up in another thread.
 *
 * @param expected answers, about: with that many none has to move
 */
private[table] final class FoundKeys(expected: Int) {
  import FoundKeys._

  private[this] val answers = new ConcurrentHashMap[Key, Answer](expected)
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

  /** The same for a key that is about to be written: nothing is learnt, and what was is kept by the write. */
  def orElse(key: RecordBuffer)(look: => Array[Byte]): Array[Byte] = {
    val known = if (isEmpty) null else answers.get(new Key(key.hash, key.toKeyRecord))
    if (known == null) look
    else {
      known.isWritten = true
      known.record
    }
  }

  def isEmpty: Boolean = answers.isEmpty

  /** How many keys something was learnt of. */
  def size: Int = answers.size

  /** Calls with the records that were found, and whose keys were not written since. By the writer. */
  def foreachUnwritten(use: Array[Byte] => Unit): Unit = answers.values.forEach { answer =>
    if (answer.record != null && !answer.isWritten) use(answer.record)
  }
}

private object FoundKeys {

  /** @param record null for a key that is not there */
  private final class Answer(val record: Array[Byte]) {
    var isWritten = false // the writer's
  }

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
