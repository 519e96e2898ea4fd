package io.bucketstate.checkpoint.sst

import io.bucketstate.checkpoint.io.BlockCodec
import io.bucketstate.record.Record

/**
 * How the blocks of a file may be compressed.
 *
 * @param kind  the number behind a block
 * @param name  what the properties call it
 * @param codec who does it
 */
private[checkpoint] sealed abstract class SstCompression(
    val kind: Byte,
    val name: String,
    val codec: BlockCodec
) {

  /** Puts what stands in front of the compressed bytes; returns where they begin. */
  def putLength(target: Array[Byte], raw: Int): Int = Record.putVarint(target, 0, raw)

  /** Whether the length stands in front because the codec does not tell it. */
  def hasLength: Boolean = true
}

private[checkpoint] object SstCompression {
  case object Off extends SstCompression(0, "NoCompression", BlockCodec.Raw)

  /** Its own format begins with the length. */
  case object Snappy extends SstCompression(1, "Snappy", BlockCodec.SnappyRaw) {
    override def putLength(target: Array[Byte], raw: Int): Int = 0
    override def hasLength: Boolean = false
  }

  case object Lz4 extends SstCompression(4, "LZ4", BlockCodec.Lz4)

  case object ZStd extends SstCompression(7, "ZSTD", BlockCodec.ZStd)

  /** The one of that codec if RocksDB has it, else LZ4. */
  def of(codec: BlockCodec): SstCompression = codec match {
    case BlockCodec.Raw       => Off
    case BlockCodec.ZStd      => ZStd
    case BlockCodec.SnappyRaw => Snappy
    case _                    => Lz4
  }

  /** Null if there is none of that number: this is asked for every block. */
  def ofKind(kind: Byte): SstCompression = kind match {
    case 0 => Off
    case 1 => Snappy
    case 4 => Lz4
    case 7 => ZStd
    case _ => null
  }
}
