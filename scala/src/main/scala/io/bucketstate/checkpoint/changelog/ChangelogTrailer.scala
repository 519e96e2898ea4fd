package io.bucketstate.checkpoint.changelog

import java.util.Arrays

import io.bucketstate.checkpoint.io.{ByteSlice, Damage, LittleEndian}

/**
 * The fixed end of a changelog, from where everything else is found.
 *
 * @param headerCrc repeated from the header, so that the end of one file cannot pass for another's
 */
private[checkpoint] final case class ChangelogTrailer(
    footerOffset: Long,
    footerLength: Int,
    footerCrc: Int,
    headerCrc: Int
)

private[checkpoint] object ChangelogTrailer {
  import ChangelogFormat._

  /** Writes the trailer to the empty `out`. */
  def encode(trailer: ChangelogTrailer, out: LittleEndian.Writer): Unit = {
    out.u64(trailer.footerOffset).u32(trailer.footerLength)
    out.u32(trailer.footerCrc).u32(trailer.headerCrc)
    out.u32(out.crcSoFar).bytes(EndMagic)
    ()
  }

  /** @param fileLength to check the footer's place with */
  def decode(bytes: ByteSlice, fileLength: Long, damage: Damage): ChangelogTrailer = {
    val in = new LittleEndian.Reader(bytes)
    val trailer = ChangelogTrailer(in.u64(), in.crc(), in.crc(), in.crc())
    val crc = in.crc()
    if (!Arrays.equals(in.bytes(EndMagic.length), EndMagic)) {
      throw damage(
        s"expected the end of a changelog at byte $fileLength, found other bytes: " +
          "the file was cut off, or something was appended"
      )
    }
    val found = bytes.slice(0, TrailerLength - EndMagic.length - 4).crc
    if (crc != found) throw damage.mismatch("trailer checksum", crc.toHexString, found.toHexString)
    val footerEnd = trailer.footerOffset + trailer.footerLength
    if (trailer.footerLength < 0 || footerEnd != fileLength - TrailerLength) {
      throw damage.mismatch("the trailer at byte", footerEnd, fileLength - TrailerLength)
    }
    trailer
  }
}
