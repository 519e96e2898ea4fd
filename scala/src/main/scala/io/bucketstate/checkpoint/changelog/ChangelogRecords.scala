package io.bucketstate.checkpoint.changelog

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.record.RecordOp

/** The records inside a block's raw bytes. */
private[checkpoint] object ChangelogRecords {

  /**
   * Walks the whole block before any record of it is handed out, so that a handler never has to undo
   * the half of a block. Costs little: it touches only the lengths.
   *
   * @return where each record starts, with its operation
   */
  def index(block: ChangelogBlock, raw: Array[Byte], damage: Damage): Array[Int] = {
    val starts = new Array[Int](block.records)
    val end = block.rawLength
    var at = 0
    var records = 0
    while (at < end) {
      val op = raw(at)
      if (!RecordOp.isKnown(op)) {
        throw damage(
          s"${place(block, at)}: expected operation 1 (PUT), 2 (REMOVE) or 3 (MERGE), found $op"
        )
      }
      val body = varintEnd(raw, at + 1, end)
      val length = if (body < 0) -1 else varint(raw, at + 1)
      if (length < 0 || length > end - body) throw broken(block, at, "record", damage)
      val key = varintEnd(raw, body, body + length)
      val keyLength = if (key < 0) -1 else varint(raw, body)
      if (keyLength < 0 || keyLength > body + length - key) throw broken(block, at, "key", damage)
      if (!RecordOp.hasValue(op) && key + keyLength != body + length) {
        throw damage(s"${place(block, at)}: expected a REMOVE without a value, found one with it")
      }
      if (records < starts.length) starts(records) = at
      at = body + length
      records += 1
    }
    if (records != block.records) {
      throw damage.mismatch(s"the block at byte ${block.offset} to hold", block.records, records)
    }
    starts
  }

  /** Where the body of the record at `start` begins. Only for what [[index]] let pass. */
  def bodyAt(raw: Array[Byte], start: Int): Int = {
    var i = start + 1
    while (raw(i) < 0) i += 1
    i + 1
  }

  /** How long the body of the record at `start` is. Only for what [[index]] let pass. */
  def bodyLength(raw: Array[Byte], start: Int): Int = varint(raw, start + 1)

  /** Only for what [[index]] let pass. */
  def foreach(block: ChangelogBlock, raw: Array[Byte], handler: RecordHandler): Unit = {
    val end = block.rawLength
    var at = 0
    while (at < end) {
      val op = raw(at)
      val length = varint(raw, at + 1)
      val body = varintEnd(raw, at + 1, end)
      handler(block, op, raw, body, length)
      at = body + length
    }
  }

  /** The offset behind the varint, or -1 if it does not end before `end` or within 5 bytes. */
  private def varintEnd(raw: Array[Byte], from: Int, end: Int): Int = {
    var i = from
    while (i < end && i < from + 5 && raw(i) < 0) i += 1
    if (i < end && i < from + 5) i + 1 else -1
  }

  /** Negative if it is too large for an Int. */
  private def varint(raw: Array[Byte], from: Int): Int = {
    var i = from
    var shift = 0
    var n = 0
    while (raw(i) < 0) {
      n |= (raw(i) & 0x7f) << shift
      shift += 7
      i += 1
    }
    if (shift == 28 && raw(i) > 7) -1 else n | (raw(i) << shift)
  }

  private def place(block: ChangelogBlock, at: Int): String =
    s"record at raw byte $at of the block at byte ${block.offset}"

  private def broken(block: ChangelogBlock, at: Int, part: String, damage: Damage): Exception =
    damage(
      s"${place(block, at)}: expected the $part to end within the block, found its length wrong"
    )
}
