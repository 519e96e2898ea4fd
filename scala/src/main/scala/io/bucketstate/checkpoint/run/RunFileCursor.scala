package io.bucketstate.checkpoint.run

import java.nio.ByteBuffer
import java.nio.file.Path
import java.util.Arrays

import org.rocksdb.SstFileReaderIterator

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.checkpoint.records.{Lookup, RecordCursor}
import io.bucketstate.table.Record

/**
 * Walks over a file's entries, or looks single ones up. For one thread.
 *
 * @param onClose called once: until then the file must stay open
 */
private[checkpoint] final class RunFileCursor(
    entries: SstFileReaderIterator,
    path: Path,
    damage: Damage,
    onClose: () => Unit
) extends RecordCursor {
  import RunFormat._

  private[this] var key = ByteBuffer.allocateDirect(256)
  private[this] var value = ByteBuffer.allocateDirect(1024)
  private[this] var stop = -1 // the last prefix wanted, as an unsigned number
  private[this] var expected = -1L // how many entries there must be, if that is known
  private[this] var seen = 0L
  private[this] var started = false
  private[this] var ended = false
  private[this] var prefixNow = 0
  private[this] var recordNow: Array[Byte] = _
  private[this] var opNow: Byte = 0

  def all(count: Long): RunFileCursor = {
    entries.seekToFirst()
    expected = count
    this
  }

  def within(span: BucketSpan): RunFileCursor = {
    entries.seek(seekKey(prefix(span.family, span.first)))
    stop = prefix(span.family, span.last)
    this
  }

  def advance(): Boolean =
    if (ended) false
    else {
      if (started) entries.next()
      started = true
      if (!isValid) finish()
      else {
        readKey()
        if (Integer.compareUnsigned(prefixNow, stop) > 0) finish()
        else {
          readRecord()
          seen += 1
          true
        }
      }
    }

  def find(wanted: Array[Byte]): Lookup = {
    entries.seek(wanted)
    if (!isValid || !isAt(wanted)) Lookup.Absent
    else {
      readRecord()
      Lookup.of(recordNow, opNow)
    }
  }

  def family: Int = familyOf(prefixNow)

  def bucket: Int = bucketOf(prefixNow)

  def record: Array[Byte] = recordNow

  def op: Byte = opNow

  def close(): Unit = if (entries.isOwningHandle) {
    ended = true
    entries.close()
    onClose()
  }

  /** An iterator that met damage just ends; only its status tells that from the end of the file. */
  private def isValid: Boolean = entries.isValid || {
    SstErrors.reading(path.toString, damage)(entries.status())
    false
  }

  private def finish(): Boolean = {
    ended = true
    recordNow = null
    if (expected >= 0 && seen != expected) throw damage.mismatch("entries", expected, seen)
    false
  }

  private def isAt(wanted: Array[Byte]): Boolean = {
    readKey()
    key.remaining == wanted.length - PrefixLength && {
      val found = new Array[Byte](wanted.length)
      key.get(0, found)
      Arrays.equals(found, wanted)
    }
  }

  /** Leaves the buffer at the key's own bytes, behind the prefix. */
  private def readKey(): Unit = {
    key.clear()
    val length = entries.key(key)
    if (length > key.capacity) {
      key = ByteBuffer.allocateDirect(2 * length)
      entries.key(key)
    }
    if (length < PrefixLength)
      throw damage(s"expected keys of 4 bytes or more, found one of $length")
    prefixNow = key.getInt()
  }

  private def readRecord(): Unit = {
    value.clear()
    val length = entries.value(value)
    if (length > value.capacity) {
      value = ByteBuffer.allocateDirect(2 * length)
      entries.value(value)
    }
    opNow = if (length == 0) 0 else value.get()
    checkTag(opNow, length, damage)
    val keyLength = key.remaining
    val keyStart = Record.varintSize(keyLength)
    val bytes = new Array[Byte](keyStart + keyLength + value.remaining)
    Record.putVarint(bytes, 0, keyLength)
    key.get(bytes, keyStart, keyLength)
    value.get(bytes, keyStart + keyLength, value.remaining)
    recordNow = bytes
  }
}
