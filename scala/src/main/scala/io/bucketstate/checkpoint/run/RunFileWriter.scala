package io.bucketstate.checkpoint.run

import java.nio.ByteBuffer
import java.nio.file.Path

import scala.collection.mutable.ArrayBuffer

import org.rocksdb.SstFileWriter

import io.bucketstate.table.{Record, RecordOp}

/** One SST being written to the local disk, and what was put in it. For one thread. */
private[checkpoint] final class RunFileWriter(path: Path, options: SstOptions)
    extends AutoCloseable {
  options.acquired()

  private[this] val sst = new SstFileWriter(options.env, options.options)
  private[this] var key = ByteBuffer.allocateDirect(256)
  private[this] var value = ByteBuffer.allocateDirect(1024)
  private[this] val buckets = ArrayBuffer.empty[BucketSpan]
  private[this] var removals = 0L
  private[this] var count = 0L

  try SstErrors.writing(path.toString)(sst.open(path.toString))
  catch {
    case failure: Throwable =>
      close()
      throw failure
  }

  def entries: Long = count

  def tombstones: Long = removals

  def spans: Seq[BucketSpan] = buckets.toSeq

  /** Bytes on the disk so far, without the block that is being filled; at least 1. */
  def length: Long = math.max(1L, sst.fileSize())

  /** Keys must come in a run's order, each once. */
  def put(family: Int, bucket: Int, record: Array[Byte], op: Byte): Unit = {
    note(family, bucket)
    val keyStart = Record.keyStart(record)
    val keyEnd = Record.keyEnd(record)
    key = room(key, RunFormat.PrefixLength + keyEnd - keyStart)
    key.putInt(RunFormat.prefix(family, bucket)).put(record, keyStart, keyEnd - keyStart).flip()
    val valueEnd = if (op == RecordOp.Remove) keyEnd else record.length
    value = room(value, 1 + valueEnd - keyEnd)
    value.put(op).put(record, keyEnd, valueEnd - keyEnd).flip()
    if (op == RecordOp.Remove) removals += 1
    SstErrors.writing(path.toString)(sst.put(key, value))
    count += 1
  }

  def finish(): Unit = SstErrors.writing(path.toString)(sst.finish())

  def close(): Unit = if (sst.isOwningHandle) {
    sst.close()
    options.released()
  }

  private def note(family: Int, bucket: Int): Unit = {
    val last = if (buckets.isEmpty) null else buckets.last
    if (last == null || last.family != family) {
      RunFormat.checkPlace(family, bucket)
      buckets += BucketSpan(family, bucket, bucket)
    } else if (last.last != bucket) {
      RunFormat.checkPlace(family, bucket)
      buckets(buckets.size - 1) = last.copy(last = bucket)
    }
  }

  private def room(buffer: ByteBuffer, size: Int): ByteBuffer =
    if (buffer.capacity >= size) buffer.clear()
    else ByteBuffer.allocateDirect(math.max(size, 2 * buffer.capacity))
}
