package io.bucketstate.table

import java.util.ArrayDeque

/**
 * Keys with several values. A merge is an [[Entry]] that holds the key and only what it appends, and
 * stands on what it appends to; the values of a key are those of the chain below, oldest first, down to
 * a put, a settled record, or nothing. So a merge costs what it appends, however much is there.
 *
 * A merge that settles takes in what it stands on as long as that is not more than twice its own size.
 * What stays behind at least doubles from entry to entry, so a chain has few entries and a byte is
 * copied few times: both grow with the logarithm of the size of the values.
 */
private[table] object MergeChain {

  /** What the key had before the version of `entry`, whose writes may be several entries. */
  def below(entry: Entry): AnyRef = {
    var current = entry.older
    while (isOf(current, entry.version)) current = current.asInstanceOf[Entry].older
    current
  }

  /** Whether a version wrote a key as more than this one entry. */
  def isSplit(entry: Entry): Boolean = isOf(entry.older, entry.version)

  /** One entry in place of all those of its version: its values, and whether it stands on older ones. */
  def joined(entry: Entry): Entry = {
    val base = below(entry)
    var first = entry
    while (first.older ne base) first = first.older.asInstanceOf[Entry]
    new Entry(
      entry.hash,
      entry.bucket,
      entry.version,
      join(entry, base),
      isRemoval = false,
      isMerge = first.isMerge,
      base
    )
  }

  /** Key and all values that a merge leads to. */
  def whole(entry: Entry): Array[Byte] = {
    var base: AnyRef = entry
    while (base.isInstanceOf[Entry] && base.asInstanceOf[Entry].isMerge) base = olderOf(base)
    join(entry, olderOf(base))
  }

  /** What takes the place of a merge that nothing can look behind any more. */
  def settled(entry: Entry): AnyRef =
    onto(entry.older, entry.bytes, entry.hash, entry.bucket, entry.version) match {
      case same: Entry if same.older eq entry.older => entry
      case other                                    => other
    }

  /**
   * Values appended to settled ones.
   *
   * @param base  a settled record or merge
   * @param bytes key and what is appended
   */
  def onto(base: AnyRef, bytes: Array[Byte], hash: Int, bucket: Int, version: Int): AnyRef = {
    var appended = bytes
    var rest = base
    while (rest != null && Bucket.recordOf(rest).length < 2L * appended.length) {
      appended = Record.append(Bucket.recordOf(rest), appended)
      rest = olderOf(rest)
    }
    if (rest == null) appended
    else new Entry(hash, bucket, version, appended, isRemoval = false, isMerge = true, rest)
  }

  /** Heap that the records from `top` down to `end` take, entries included. */
  def heap(top: AnyRef, end: AnyRef): Long = {
    var bytes = 0L
    var current = top
    while (current != null && (current ne end)) {
      bytes += FamilyTable.slotHeap(current)
      current = olderOf(current)
    }
    bytes
  }

  private def olderOf(slot: AnyRef): AnyRef = slot match {
    case entry: Entry => entry.older
    case _            => null
  }

  private def isOf(slot: AnyRef, version: Int): Boolean =
    slot.isInstanceOf[Entry] && slot.asInstanceOf[Entry].version == version

  /** The values of the chain from `top` down to what is above `end`, oldest first, behind the key. */
  private def join(top: Entry, end: AnyRef): Array[Byte] = {
    val parts = new ArrayDeque[Array[Byte]]()
    var current: AnyRef = top
    while (current != null && (current ne end)) {
      parts.push(Bucket.recordOf(current))
      current = olderOf(current)
    }
    Record.join(parts)
  }
}
