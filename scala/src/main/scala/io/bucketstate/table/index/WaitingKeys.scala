package io.bucketstate.table.index

import java.util.Arrays

import io.bucketstate.record.Record
import io.bucketstate.table.entry.Slots

/**
 * Keys behind a bound, in no order but by how far behind it they are: in piles, each of those whose first bit that
 * differs from the bound is the same (a radix heap: Ahuja, Mehlhorn, Orlin and Tarjan, 1990). When the bound moves
 * on, whole piles fall below it or stay as they are, and one is looked through: each key of that is below now, or
 * comes to a nearer pile. So a key is looked at again and again only as often as its distance halves.
 *
 * Each cell that waits knows its place in its pile, counted from 1; the place of others is 0. Not thread-safe.
 */
private[table] final class WaitingKeys {
  import WaitingKeys._

  private[this] var piles = new Array[Pile](0) // as many as there were needed so far
  private[this] var bound = Array.emptyByteArray
  private[this] var waiting = 0

  def isEmpty: Boolean = waiting == 0

  /** Whether a key is below the bound, so that it would not wait. */
  def isBelow(record: Array[Byte]): Boolean = Record.compareKey(record, bound) < 0

  /** Adds a key that is not below the bound. */
  def add(cell: Cell): Unit = {
    val n = pileOf(Slots.recordOf(cell.content))
    if (n >= piles.length) piles = Arrays.copyOf(piles, n + 1)
    if (piles(n) == null) piles(n) = new Pile
    piles(n).add(cell)
    waiting += 1
  }

  /** Removes one that waits. */
  def remove(cell: Cell): Unit = {
    piles(pileOf(Slots.recordOf(cell.content))).remove(cell)
    waiting -= 1
  }

  /**
   * Moves the bound on, if it is not there yet, and hands over what is below it then, in no order. A cell has a
   * place until it has been handed over.
   */
  def advance(until: Array[Byte])(below: Cell => Unit): Unit =
    if (Arrays.compareUnsigned(until, bound) > 0) {
      val crossed = pileOf(Record.of(until, Array.emptyByteArray))
      bound = until
      // Who differs from the old bound later than the new one does is below that.
      for (n <- crossed + 1 until piles.length) take(n).foreach(cell => passed(cell, below))
      take(crossed).foreach { cell =>
        if (isBelow(Slots.recordOf(cell.content))) passed(cell, below)
        else {
          waiting -= 1
          add(cell)
        }
      }
    }

  /** Hands over all, in no order. */
  def takeAll(below: Cell => Unit): Unit =
    for (n <- piles.indices) take(n).foreach(cell => passed(cell, below))

  private def passed(cell: Cell, below: Cell => Unit): Unit = {
    below(cell)
    cell.place = 0
    waiting -= 1
  }

  private def take(n: Int): Iterator[Cell] =
    if (n >= piles.length || piles(n) == null) Iterator.empty
    else {
      val pile = piles(n)
      piles(n) = null
      pile.cells
    }

  /**
   * The first bit in which a key that is not below the bound differs from it, as if zeros followed both. Keys that
   * agree with it in all bytes that are looked at are in one pile.
   */
  private def pileOf(record: Array[Byte]): Int = {
    val start = Record.keyStart(record)
    val length = Math.min(Record.keyEnd(record) - start, Bytes)
    val compared = Math.min(bound.length, length)
    val differing = Arrays.mismatch(record, start, start + compared, bound, 0, compared)
    var at = if (differing < 0) compared else differing
    if (differing < 0) while (at < length && record(start + at) == 0) at += 1
    if (at == length) Bytes * 8
    else {
      val other = if (differing < 0) 0 else bound(at).toInt
      at * 8 + Integer.numberOfLeadingZeros((record(start + at) ^ other) & 0xff) - HigherBits
    }
  }
}

private object WaitingKeys {

  // That are looked at: time columns are at the beginning.
  private final val Bytes = 64
  private final val HigherBits = 24 // of an integer than of a byte
  private final val FirstRoom = 4

  private final class Pile {
    private[this] var places = new Array[Cell](FirstRoom)
    private[this] var count = 0

    def add(cell: Cell): Unit = {
      if (count == places.length) places = Arrays.copyOf(places, count * 2)
      places(count) = cell
      count += 1
      cell.place = count
    }

    /** The last one takes the place. */
    def remove(cell: Cell): Unit = {
      count -= 1
      val last = places(count)
      places(count) = null
      if (last ne cell) {
        places(cell.place - 1) = last
        last.place = cell.place
      }
      cell.place = 0
      if (places.length > FirstRoom && count < places.length / 4)
        places = Arrays.copyOf(places, places.length / 2)
    }

    def cells: Iterator[Cell] = places.iterator.take(count)
  }
}
