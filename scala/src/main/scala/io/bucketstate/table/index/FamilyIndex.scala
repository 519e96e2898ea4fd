package io.bucketstate.table.index

import java.util.{Iterator => JIterator}

import io.bucketstate.record.KeyRange

/**
 * Finds keys of a bucket by a part of them. It holds the very cells that the bucket's slots hold: it says which
 * keys may exist, the cells say what they hold at a version.
 *
 * Threads: one writer, any readers. Scans are weakly consistent: which cells they come by may depend on changes made
 * meanwhile, what those cells say at a version and a moment of it does not.
 */
private[table] trait FamilyIndex {

  /** A new key. */
  def add(cell: Cell): Unit

  /** A key that nobody can read any more. Leaves alone another cell of the same key. */
  def remove(cell: Cell): Unit

  /** A key that is there again, and was perhaps passed over by [[unlink]] while it was not. */
  def relink(cell: Cell): Unit

  /** A scan found a key gone for all who can still read; `seen` is what its cell held. Any thread. */
  def unlink(cell: Cell, seen: AnyRef): Unit

  /** Whether there are no keys. */
  def isEmpty: Boolean

  /** Cells of keys that start with `prefix`. */
  def prefixed(prefix: Array[Byte]): JIterator[Cell]

  /** Cells of keys that start with `prefix`, ascending; keys that are added meanwhile may be missing. */
  def prefixedInOrder(prefix: Array[Byte]): JIterator[Cell]

  /** Cells of these keys, ascending. */
  def ranged(keys: KeyRange): JIterator[Cell]

  /** Heap it takes for so many keys, an estimate. */
  def heap(keys: Long): Long
}
