package io.bucketstate.checkpoint.changelog

import java.util.{Arrays, UUID}

import io.bucketstate.checkpoint.io.{BlockCodec, ByteSlice, Damage, LittleEndian}
import io.bucketstate.error.InvalidException

/**
 * What a changelog says of itself before any change.
 *
 * @param version          the store version that the changes lead to
 * @param commitId     of this very commit, which no other has: tells what a rewrite of the version is not
 * @param hashFunction by name; with `numBuckets` fixed for the life of a checkpoint
 * @param codec        how blocks are compressed that shrink by it
 * @param checkpointId of this version, with checkpoint format 2
 * @param baseId       names what the changes apply to: the base's checkpoint id with checkpoint format 2,
 *                     its commit id with format 1; None where the base has none
 */
final case class ChangelogHeader(
    version: Long,
    commitId: UUID,
    numBuckets: Int,
    hashFunction: String,
    codec: BlockCodec,
    checkpointId: Option[String] = None,
    baseId: Option[String] = None
)

object ChangelogHeader {
  import ChangelogFormat._

  /** The bytes before the header's length is known: magic, format version and that length. */
  private val StartLength = 12

  /**
   * Writes the header to the empty `out`; returns its checksum.
   *
   * @param format version of the file's format
   */
  private[checkpoint] def encode(
      header: ChangelogHeader,
      format: Int,
      out: LittleEndian.Writer
  ): Int = {
    val ids = Seq(header.checkpointId, header.baseId).map(_.getOrElse(""))
    val strings = ids :+ header.hashFunction
    val length = StartLength + 32 + strings.map(2 + _.getBytes("UTF-8").length).sum + 4
    if (length > MaxHeaderLength) {
      throw new InvalidException(
        s"The header of the changelog of version ${header.version} would take $length bytes, " +
          s"at most $MaxHeaderLength can be written",
        "Use shorter checkpoint ids and a shorter name of the hash function."
      )
    }
    out.bytes(Magic).u16(format).u16(length)
    out.u8(header.codec.id.toInt).u8(0).u16(0)
    out.uuid(header.commitId).u64(header.version).u32(header.numBuckets)
    strings.foreach(out.string)
    val crc = out.crcSoFar
    out.u32(crc)
    crc
  }

  /** A header with what only its file needs to know. */
  private[checkpoint] final case class Decoded(
      header: ChangelogHeader,
      format: Int,
      length: Int,
      crc: Int
  )

  /** @param start the file's first bytes, [[ChangelogFormat.MaxHeaderLength]] of them if it has so many */
  private[checkpoint] def decode(start: ByteSlice, damage: Damage): Decoded = {
    if (start.length < StartLength) {
      throw damage(
        s"expected a header of at least $StartLength bytes, found a file of ${start.length}"
      )
    }
    val in = new LittleEndian.Reader(start)
    if (!Arrays.equals(in.bytes(Magic.length), Magic)) {
      throw damage("expected a changelog, but the file does not start like one")
    }
    // Before the checksum: a newer format may have another header altogether.
    val format = in.u16()
    if (format > Timed) throw damage.newer(Timed, format)
    if (format < Plain) throw damage.mismatch("format version", s"$Plain or $Timed", format)
    val length = in.u16()
    if (length < StartLength + 4 || length > start.length) {
      throw damage(s"expected a header of $length bytes, found ${start.length} to read it from")
    }
    val expected = new LittleEndian.Reader(start.slice(length - 4, 4)).crc()
    val found = start.slice(0, length - 4).crc
    if (found != expected) {
      throw damage.mismatch("header checksum", expected.toHexString, found.toHexString)
    }
    damage.guard("header") {
      val fields = start.slice(StartLength, length - 4 - StartLength)
      Decoded(fieldsOf(new LittleEndian.Reader(fields), damage), format, length, found)
    }
  }

  private def fieldsOf(in: LittleEndian.Reader, damage: Damage): ChangelogHeader = {
    val codec = codecOf(in.u8(), damage)
    in.bytes(3)
    val writer = in.uuid()
    val version = in.u64()
    val buckets = in.u32()
    val checkpoint = Some(in.string()).filter(_.nonEmpty)
    val base = Some(in.string()).filter(_.nonEmpty)
    val hash = in.string()
    if (in.remaining > 0) throw damage(s"the header has ${in.remaining} bytes too many")
    ChangelogHeader(version, writer, buckets, hash, codec, checkpoint, base)
  }

  private[checkpoint] def codecOf(id: Int, damage: Damage): BlockCodec =
    BlockCodec.forId(id).getOrElse {
      val known = BlockCodec.all.map(c => s"${c.id} ($c)").mkString(", ")
      throw damage.mismatch("a codec of", known, id)
    }
}
