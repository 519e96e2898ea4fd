package io.bucketstate.move.upsert

import java.util.Arrays

import io.bucketstate.move.write.Place
import io.bucketstate.move.write.Place.Moved

/**
 * Sorted records of a state and of rows that are to replace them. Each has a mark behind its value, of whom it is, so that
 * the two of one key are told apart however they were sorted. Not thread-safe.
 *
 * @param replaced told of the place and value of what a row replaces
 * @param twice    what to throw for the place of a key that rows have twice
 */
private[move] final class Replacing(
    records: Iterator[Moved],
    replaced: (Array[Byte], Array[Byte]) => Unit,
    twice: Array[Byte] => Throwable
) extends Iterator[Moved] {
  import Replacing._

  private[this] val ahead = records.buffered

  override def hasNext: Boolean = ahead.hasNext

  override def next(): Moved = {
    var found = ahead.next()
    while (ahead.hasNext && isRival(found, ahead.head)) found = winner(found, ahead.next())
    (found._1, plain(found._2))
  }

  /** Two of a state's own are for whoever writes them to refuse. */
  private def isRival(one: Moved, other: Moved): Boolean =
    Arrays.equals(one._1, other._1) && (isRow(one) || isRow(other))

  private def winner(one: Moved, other: Moved): Moved = {
    if (isRow(one) && isRow(other)) throw twice(one._1)
    val (row, record) = if (isRow(one)) (one, other) else (other, one)
    replaced(record._1, plain(record._2))
    row
  }
}

private[move] object Replacing {
  private final val Record: Byte = 0
  private final val Row: Byte = 1

  def ofState(record: Moved): Moved = marked(record, Record)

  def ofRows(record: Moved): Moved = marked(record, Row)

  private def marked(record: Moved, mark: Byte): Moved = {
    val value = Arrays.copyOf(record._2, record._2.length + 1)
    value(record._2.length) = mark
    (record._1, value)
  }

  private def isRow(record: Moved): Boolean = record._2.last == Row

  private def plain(value: Array[Byte]): Array[Byte] = Arrays.copyOf(value, value.length - 1)

  /** The key's bytes of a place. */
  def key(place: Array[Byte]): Array[Byte] = Arrays.copyOfRange(place, Place.Header, place.length)
}
