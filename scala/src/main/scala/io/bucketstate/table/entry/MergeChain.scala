package io.bucketstate.table.entry

import java.util.ArrayDeque

import io.bucketstate.record.Record

/**
 * Keys with several values. A merge is an [[Entry]] that holds the key and only what it appends, and
 * stands on what it appends to; the values of a key are those of the chain below, oldest first, down to
 * a put, a settled record, or nothing. So a merge costs what it appends, however much is there.
 *
 * A merge that settles takes in what it stands on as long as that is not more than twice its own size.
 * What stays behind at least doubles from entry to entry, so a chain has few entries and a byte is
 * copied few times: both grow with the logarithm of the size of the values.
 *
 * A merge never stands on [[Slots.Unknown]], only a put or a removal below it may.
 */
private[table] object MergeChain {

  /** What the key had before the version of `entry`, whose writes may be several entries. */
  def below(entry: Entry): AnyRef = {
    var current = entry.older
    while (isOf(current, entry.version)) current = current.asInstanceOf[Entry].older
    current
  }

  /** Whether a version wrote what an entry says as more than this one. */
  def isSplit(entry: Entry): Boolean = entry.isMerge && isOf(entry.older, entry.version)

  /** Bytes of the key and all values that a merge leads to, which may be more than an array can hold. */
  def length(entry: Entry): Long = {
    val from = Record.keyEnd(entry.bytes)
    var bytes = from.toLong
    val parts = new Parts(entry)
    while (parts.hasNext) bytes += parts.next().length - from
    bytes
  }

  /** One entry in place of all those of its version: its values, and whether it stands on older ones. */
  def joined(entry: Entry): Entry = {
    val parts = new ArrayDeque[Array[Byte]]()
    var first = entry
    parts.push(first.bytes)
    while (isSplit(first)) {
      first = first.older.asInstanceOf[Entry]
      parts.push(first.bytes)
    }
    new Entry(
      entry.hash,
      entry.bucket,
      entry.version,
      Record.join(parts),
      ofRemoval = false,
      ofMerge = first.isMerge,
      below(first),
      entry.moment
    )
  }

  /** Key and all values that a merge leads to. */
  def whole(entry: Entry): Array[Byte] = {
    val oldestFirst = new ArrayDeque[Array[Byte]]()
    val parts = new Parts(entry)
    while (parts.hasNext) oldestFirst.push(parts.next())
    Record.join(oldestFirst)
  }

  /**
   * The records whose values a merge leads to, newest first. Follows each link once, and none below the
   * first record that is no merge: a writer that settles what lies there may replace it between two looks.
   */
  final class Parts(top: Entry) extends Iterator[Array[Byte]] {
    private[this] var following: AnyRef = top

    override def hasNext: Boolean = following != null

    override def next(): Array[Byte] = {
      val slot = following
      following = slot match {
        case entry: Entry if entry.isMerge => entry.older
        case _                             => null
      }
      Slots.recordOf(slot)
    }
  }

  /** What takes the place of a merge that nothing can look behind any more. */
  def settled(entry: Entry): AnyRef =
    onto(entry.older, entry.bytes, entry.hash, entry.bucket, entry.version) match {
      case same: Entry if same.older eq entry.older => entry
      case other                                    => other
    }

  /** A merge that settled stays an entry; it can still be told from one that did not. */
  def markSettled(slot: AnyRef): Unit = slot match {
    case merge: Entry => merge.position = Entry.Settled
    case _            => ()
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
    while (rest != null && Slots.recordOf(rest).length < 2L * appended.length) {
      appended = Record.append(Slots.recordOf(rest), appended)
      rest = olderOf(rest)
    }
    if (rest == null) appended
    else new Entry(hash, bucket, version, appended, ofRemoval = false, ofMerge = true, rest)
  }

  /** Heap that the records from `top` down to `end` take, entries included. */
  def heap(top: AnyRef, end: AnyRef): Long = {
    var bytes = 0L
    var current = top
    while (current != null && (current ne end)) {
      bytes += Slots.heap(current)
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
}
