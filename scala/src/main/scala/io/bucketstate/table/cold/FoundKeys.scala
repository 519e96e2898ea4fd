package io.bucketstate.table.cold

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import io.bucketstate.record.RecordBuffer
import io.bucketstate.table.entry.Slots

/**
 * What the cold part of one floor said of single keys: of those that a batch has asked for, until it ends. An answer
 * may come late, from a thread that a killed attempt has left: so each floor and each version has an object of its own,
 * and what is learnt by that of another is of no use to anybody.
 *
 * Thread-safe: the task that writes may look keys up in another thread.
 *
 * @param expected answers, about: with that many none has to move
 * @param mayKeep  whether there is room for answers of so many bytes of heap; asked once for each megabyte
 */
private[table] final class FoundKeys(expected: Int, mayKeep: Long => Boolean) {
  import FoundKeys._

  private[this] val answers = new ConcurrentHashMap[Key, Answer](expected)
  private[this] val bytes = new AtomicLong
  @volatile private[this] var room = Step // bytes up to which nobody need be asked
  @volatile private[this] var isFull = false

  /** Heap of what was learnt, an estimate. */
  def heap: Long = bytes.get

  /** What was learnt of a key; if nothing was, what `look` gives, null if the key is not there, and it is learnt. */
  def orLearn(key: RecordBuffer)(look: => Array[Byte]): Array[Byte] = {
    val own = new Key(key.hash, key.toKeyRecord)
    val known = answers.get(own)
    if (known != null) known.record
    else {
      val record = look
      if (!isFull) learn(own, record)
      record
    }
  }

  /** What is not learnt is looked up again: a batch must not keep all that it ever asked for. */
  private def learn(key: Key, record: Array[Byte]): Unit = {
    answers.put(key, if (record == null) Absent else new Answer(record))
    val learnt = bytes.addAndGet(
      AnswerSize + Slots.heap(key.bytes) + (if (record == null) 0L else Slots.heap(record))
    )
    if (learnt > room) {
      if (mayKeep(learnt)) room = learnt + Step else isFull = true
    }
  }

  /** The answer for a key that is about to be written: nothing new is learnt, and what was learnt is kept by the write. */
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

  private final val Step = 1L << 20

  /** Heap of the two objects and the map's own, on a 64-bit JVM with compressed pointers. */
  private final val AnswerSize = 80L

  private val Absent = new Answer(null)

  // In an order, so that many keys of one hash are found as quickly as others.
  private final class Key(override val hashCode: Int, val bytes: Array[Byte])
      extends Comparable[Key] {

    override def compareTo(other: Key): Int = java.util.Arrays.compare(bytes, other.bytes)

    override def equals(other: Any): Boolean = other match {
      case that: Key => java.util.Arrays.equals(bytes, that.bytes)
      case _         => false
    }
  }
}
