package io.bucketstate.checkpoint.run

import java.nio.file.Path
import java.util.UUID

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.table.{Record, RecordOp}

/**
 * One file of a run being written to the local disk, and what was put in it. For one thread.
 *
 * @param id no other file has it
 */
private[checkpoint] final class RunFileWriter(path: Path, options: SstOptions, id: UUID)
    extends AutoCloseable {
  private[this] val sst =
    new SstWriter(path, SstCompression.of(options.codec), options.blockBytes, id)
  private[this] val buckets = ArrayBuffer.empty[BucketSpan]
  private[this] var placeNow = -1L // family and bucket of the record before
  private[this] var removals = 0L
  private[this] var count = 0L

  def entries: Long = count

  def tombstones: Long = removals

  def spans: Seq[BucketSpan] = buckets.toSeq

  /** Bytes on the disk so far, without the block that is being filled; at least 1. */
  def length: Long = math.max(1L, sst.length)

  /** CRC32C of the file, once it is finished. */
  def checksum: Int = sst.checksum

  /** Keys must come in a run's order, each once; else this throws `InvalidException`. */
  def put(family: Int, bucket: Int, record: Array[Byte], op: Byte): Unit = {
    val place = (family.toLong << 32) | (bucket & 0xffffffffL)
    if (place != placeNow) {
      note(family, bucket)
      placeNow = place
    }
    val keyStart = Record.keyStart(record)
    val keyEnd = Record.keyEnd(record)
    val valueEnd = if (op == RecordOp.Remove) keyEnd else record.length
    if (op == RecordOp.Remove) removals += 1
    sst.add(RunFormat.prefix(family, bucket), record, keyStart, keyEnd, op, valueEnd)
    count += 1
  }

  /** There must be a record in it. */
  def finish(): Unit = sst.finish()

  def close(): Unit = sst.close()

  private def note(family: Int, bucket: Int): Unit = {
    RunFormat.checkPlace(family, bucket)
    val last = if (buckets.isEmpty) null else buckets.last
    if (last == null || last.family != family) buckets += BucketSpan(family, bucket, bucket)
    else buckets(buckets.size - 1) = last.copy(last = bucket)
  }
}
