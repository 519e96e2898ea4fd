package io.bucketstate.checkpoint.run.write

import java.io.OutputStream
import java.nio.file.Path
import java.util.UUID

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.io.WorkFolder
import io.bucketstate.checkpoint.run.{BucketSpan, RunFormat, TimeSpan}
import io.bucketstate.checkpoint.sst.{SstOptions, SstWriter}
import io.bucketstate.record.{Record, RecordOp, TimedValue}

/**
 * One file of a run being written to the local disk, and what was put in it. For one thread.
 *
 * @param id      no other file has it
 * @param isTimed which families' records have times
 * @param create  makes the file
 */
private[checkpoint] final class RunFileWriter(
    path: Path,
    options: SstOptions,
    id: UUID,
    isTimed: Int => Boolean = _ => false,
    create: Path => OutputStream = WorkFolder.NewFile
) extends AutoCloseable {
  private[this] val sst = new SstWriter(path, options, id, create)
  private[this] val buckets = ArrayBuffer.empty[BucketSpan]
  private[this] var placeNow = -1L // family and bucket of the record before
  private[this] var removals = 0L
  private[this] var count = 0L
  private[this] var isOfTimes = false // of the family of the record before
  private[this] var firstTime = Long.MaxValue
  private[this] var lastTime = -1L
  private[this] var isTimeless = false // a record has no time

  def entries: Long = count

  def tombstones: Long = removals

  def spans: Seq[BucketSpan] = buckets.toSeq

  /** The time buckets of all its records but removals, if all have times. */
  def times: Option[TimeSpan] =
    Option.when(!isTimeless && lastTime >= 0)(TimeSpan(firstTime, lastTime))

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
      isOfTimes = isTimed(family)
    }
    val keyStart = Record.keyStart(record)
    val keyEnd = Record.keyEnd(record)
    val hasValue = RecordOp.hasValue(op)
    val valueEnd = if (hasValue) record.length else keyEnd
    if (hasValue) noteTime(record) else removals += 1
    sst.add(RunFormat.prefix(family, bucket), record, keyStart, keyEnd, op, valueEnd)
    count += 1
  }

  /** There must be a record in it. */
  def finish(): Unit = sst.finish()

  def close(): Unit = sst.close()

  private def noteTime(record: Array[Byte]): Unit = {
    val start = if (isOfTimes) TimedValue.startOf(record) else TimedValue.Untimed
    if (start == TimedValue.Untimed) isTimeless = true
    else {
      firstTime = math.min(firstTime, start)
      lastTime = math.max(lastTime, start)
    }
  }

  private def note(family: Int, bucket: Int): Unit = {
    RunFormat.checkPlace(family, bucket)
    val last = if (buckets.isEmpty) null else buckets.last
    if (last == null || last.family != family) buckets += BucketSpan(family, bucket, bucket)
    else buckets(buckets.size - 1) = last.copy(last = bucket)
  }
}
