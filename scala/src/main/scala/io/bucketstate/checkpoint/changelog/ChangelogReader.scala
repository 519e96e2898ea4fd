package io.bucketstate.checkpoint.changelog

import scala.util.control.NonFatal

import io.bucketstate.checkpoint.io.{Attempt, ByteSlice, Damage, FileStore}
import io.bucketstate.record.TimeBuckets

/** A block's raw bytes, and where in them each record starts. Immutable. */
private[checkpoint] final class IndexedBlock(val raw: Array[Byte], val starts: Array[Int])

/**
 * A changelog opened for reading (see `ChangelogFormat`). What is opened has a header, a footer and
 * a trailer that were verified and fit together; each block is verified when it is read. Whatever is
 * wrong is a `CorruptException`, and nothing of the block at fault reaches a handler.
 *
 * Safe for several threads.
 */
final class ChangelogReader private (
    source: ChangelogSource,
    damage: Damage,
    val header: ChangelogHeader,
    footer: ChangelogFooter
) extends AutoCloseable {

  /** Length of the file in bytes. */
  def length: Long = source.length

  def families: IndexedSeq[ChangelogFamily] = footer.families

  /** The time buckets of the families whose records have times, by number. */
  def times: Map[Int, TimeBuckets] = ChangelogFamily.timesOf(families)

  /** The number that the next new column family gets. */
  def nextFamily: Int = footer.nextFamily

  /** By family, then by bucket. */
  def blocks: IndexedSeq[ChangelogBlock] = footer.blocks

  /** All that can hold changes of a bucket: none or one, more only when the bucket is a huge one. */
  def blocksOf(family: Int, bucket: Int): IndexedSeq[ChangelogBlock] =
    blocks.filter(b => b.family == family && b.holds(bucket))

  /** The block's records as they were before compression. */
  def readBlock(block: ChangelogBlock): Array[Byte] = {
    val raw = new Array[Byte](block.rawLength)
    inflate(block, raw)
    raw
  }

  /** A block's records, verified, and where each starts: see [[ChangelogRecords]]. */
  private[checkpoint] def indexed(block: ChangelogBlock): IndexedBlock = {
    val raw = readBlock(block)
    new IndexedBlock(raw, ChangelogRecords.index(block, raw, damage))
  }

  /** All records, in the file's order. */
  def foreach(handler: RecordHandler): Unit = foreachIn(blocks)(handler)

  /** The records of some blocks. */
  def foreachIn(some: Iterable[ChangelogBlock])(handler: RecordHandler): Unit =
    if (some.nonEmpty) {
      val raw = new Array[Byte](some.iterator.map(_.rawLength).max)
      some.foreach { block =>
        inflate(block, raw)
        ChangelogRecords.index(block, raw, damage)
        ChangelogRecords.foreach(block, raw, handler)
      }
    }

  /** Checks the checksums of all blocks without decoding any. */
  def verifyBlocks(): Unit = blocks.foreach(stored)

  def close(): Unit = source.close()

  private def stored(block: ChangelogBlock): ByteSlice = {
    val bytes = source.slice(block.offset, block.storedLength)
    val crc = bytes.crc
    if (crc != block.crc) {
      throw damage(
        s"expected checksum ${block.crc.toHexString} of the block at byte ${block.offset}, found " +
          crc.toHexString
      )
    }
    bytes
  }

  private def inflate(block: ChangelogBlock, raw: Array[Byte]): Unit = {
    val stored = this.stored(block)
    val length =
      try block.codec.decompress(stored.array, stored.offset, stored.length, raw, block.rawLength)
      catch {
        case e: Exception =>
          throw damage(s"the block at byte ${block.offset} cannot be decompressed", e)
      }
    if (length != block.rawLength) {
      throw damage.mismatch(
        s"the block at byte ${block.offset} to have a raw length of",
        block.rawLength,
        length
      )
    }
  }
}

object ChangelogReader {
  import ChangelogFormat._

  /** Up to this length a file is cheaper read at once than in parts. */
  private val SmallFile = 64 * 1024

  /** What is read of a longer file's end, in the hope that the footer is in it. */
  private val TailLength = 16 * 1024

  /** The header alone, with one small read. */
  def readHeader(folder: FileStore, file: Attempt): ChangelogHeader = {
    val start = folder.readPrefix(file.changelog, MaxHeaderLength)
    headerOf(new ByteSlice(start, 0, start.length), file, damageOf(folder, file)).header
  }

  /**
   * For reading some blocks: the file is read in parts as they are asked for. Close it.
   *
   * @param length in bytes, where it is known
   */
  def open(folder: FileStore, file: Attempt, length: Option[Long] = None): ChangelogReader = {
    val opened = folder.open(file.changelog, length)
    try
      if (opened.length > SmallFile) make(new ChangelogSource.Parts(opened), folder, file)
      else {
        val bytes = opened.read(0L, opened.length.toInt)
        opened.close()
        make(new ChangelogSource.Whole(bytes), folder, file)
      }
    catch {
      case failure: Throwable =>
        try opened.close()
        catch { case NonFatal(second) => failure.addSuppressed(second) }
        throw failure
    }
  }

  /** For reading all of it: the file is read into memory in one call, unless it is too long for that. */
  def readWhole(folder: FileStore, file: Attempt, length: Option[Long] = None): ChangelogReader =
    make(new ChangelogSource.Whole(folder.read(file.changelog, length)), folder, file)

  /** A reader of a changelog whose bytes are in memory. */
  private[changelog] def of(
      folder: FileStore,
      file: Attempt,
      content: Array[Byte]
  ): ChangelogReader =
    make(new ChangelogSource.Whole(content), folder, file)

  private def make(source: ChangelogSource, folder: FileStore, file: Attempt): ChangelogReader = {
    val damage = damageOf(folder, file)
    val length = source.length
    val start = source.slice(0L, math.min(length, MaxHeaderLength.toLong).toInt)
    val header = headerOf(start, file, damage)
    if (length < header.length + TrailerLength) {
      throw damage(s"expected more than ${header.length + TrailerLength} bytes, found $length")
    }
    val tailFrom = math.max(header.length.toLong, length - TailLength)
    val tail = source.slice(tailFrom, (length - tailFrom).toInt)
    val trailer = ChangelogTrailer.decode(
      tail.slice(tail.length - TrailerLength, TrailerLength),
      length,
      damage
    )
    if (trailer.headerCrc != header.crc) {
      throw damage("the trailer belongs to another header: the file is made of two")
    }
    if (trailer.footerOffset < header.length) {
      throw damage.mismatch("a footer from byte", header.length, trailer.footerOffset)
    }
    val index =
      if (trailer.footerOffset < tailFrom) source.slice(trailer.footerOffset, trailer.footerLength)
      else tail.slice((trailer.footerOffset - tailFrom).toInt, trailer.footerLength)
    if (index.crc != trailer.footerCrc) {
      val (expected, found) = (trailer.footerCrc.toHexString, index.crc.toHexString)
      throw damage.mismatch("footer checksum", expected, found)
    }
    val footer = ChangelogFooter.decode(index, header.format, damage)
    footer.check(header.length.toLong, trailer.footerOffset, header.header.numBuckets, damage)
    new ChangelogReader(source, damage, header.header, footer)
  }

  private def headerOf(
      start: ByteSlice,
      file: Attempt,
      damage: Damage
  ): ChangelogHeader.Decoded = {
    val decoded = ChangelogHeader.decode(start, damage)
    val header = decoded.header
    if (header.version != file.version || header.checkpointId != file.checkpointId) {
      val found = Attempt(math.max(0L, header.version), header.checkpointId).changelog
      throw damage(
        s"expected the header of ${file.changelog}, found that of $found: the file was renamed or copied"
      )
    }
    decoded
  }

  private def damageOf(folder: FileStore, file: Attempt): Damage =
    new Damage(s"${folder.location}/${file.changelog}", s"changelog of version ${file.version}")
}
