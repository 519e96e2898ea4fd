package io.bucketstate.checkpoint.io

import java.util.Locale

import com.github.luben.zstd.{Zstd, ZstdCompressCtx}
import com.ning.compress.lzf.LZFEncoder
import com.ning.compress.lzf.util.ChunkDecoderFactory
import net.jpountz.lz4.LZ4Factory
import org.xerial.snappy.Snappy

import io.bucketstate.error.InvalidException

/** Compresses block after block for one thread; holds native memory until it is closed. */
private[checkpoint] trait BlockCompressor extends AutoCloseable {

  /** Room that `compress` may need for so many bytes, whatever they are. */
  def bound(length: Int): Int

  /** Returns how many bytes it wrote at `targetOffset`. */
  def compress(
      source: Array[Byte],
      offset: Int,
      length: Int,
      target: Array[Byte],
      targetOffset: Int
  ): Int

  def close(): Unit = ()
}

/**
 * How the blocks of a file are compressed: bare, without the library's own stream framing where it
 * has one, because the file already knows the lengths and carries checksums.
 *
 * @param id   the byte that stands for it in files
 * @param name as in Spark's setting
 */
sealed abstract class BlockCodec(val id: Byte, val name: String) {

  private[checkpoint] def newCompressor(): BlockCompressor

  /**
   * Returns how many bytes it wrote to the start of `target`. The source must have passed its
   * checksum; what is wrong all the same surfaces as some exception of the library.
   */
  private[checkpoint] def decompress(
      source: Array[Byte],
      offset: Int,
      length: Int,
      target: Array[Byte],
      rawLength: Int
  ): Int

  /** What so many bytes can hold at most: a raw length above that is no number to allocate. */
  private[checkpoint] def mostRaw(length: Int): Long = length * most

  /** Raw bytes per stored byte that the format can come to. */
  protected def most: Long

  override def toString: String = name
}

object BlockCodec {

  val Setting = "spark.sql.streaming.stateStore.compression.codec"

  /** Stores bytes as they are; what a block gets that does not shrink. No setting names it. */
  case object Raw extends BlockCodec(0, "none") {
    override protected def most: Long = 1

    private[checkpoint] def newCompressor(): BlockCompressor = new BlockCompressor {
      def bound(length: Int): Int = length
      def compress(src: Array[Byte], at: Int, n: Int, dst: Array[Byte], to: Int): Int = {
        System.arraycopy(src, at, dst, to, n)
        n
      }
    }

    private[checkpoint] def decompress(
        src: Array[Byte],
        at: Int,
        n: Int,
        dst: Array[Byte],
        raw: Int
    ): Int = {
      System.arraycopy(src, at, dst, 0, n)
      n
    }
  }

  /** LZ4's block format (pyarrow: `lz4_raw`). */
  case object Lz4 extends BlockCodec(1, "lz4") {
    // A byte more of a match's length stands for 255 bytes.
    override protected def most: Long = 255

    private[checkpoint] def newCompressor(): BlockCompressor = new BlockCompressor {
      private val lz4 = LZ4Factory.fastestInstance().fastCompressor()
      def bound(length: Int): Int = lz4.maxCompressedLength(length)
      def compress(src: Array[Byte], at: Int, n: Int, dst: Array[Byte], to: Int): Int =
        lz4.compress(src, at, n, dst, to, dst.length - to)
    }

    private[checkpoint] def decompress(
        src: Array[Byte],
        at: Int,
        n: Int,
        dst: Array[Byte],
        raw: Int
    ): Int = LZ4Factory.fastestInstance().safeDecompressor().decompress(src, at, n, dst, 0, raw)
  }

  /** One Zstandard frame, level 1: the state is read back rarely, written all the time. */
  case object ZStd extends BlockCodec(2, "zstd") {
    // A block of 4 bytes is one byte, repeated up to 128 KiB times.
    override protected def most: Long = 32 * 1024

    private[checkpoint] def newCompressor(): BlockCompressor = new BlockCompressor {
      private val context = new ZstdCompressCtx().setLevel(1)
      def bound(length: Int): Int = math.toIntExact(Zstd.compressBound(length.toLong))
      def compress(src: Array[Byte], at: Int, n: Int, dst: Array[Byte], to: Int): Int =
        context.compressByteArray(dst, to, dst.length - to, src, at, n)
      override def close(): Unit = context.close()
    }

    private[checkpoint] def decompress(
        src: Array[Byte],
        at: Int,
        n: Int,
        dst: Array[Byte],
        raw: Int
    ): Int = math.toIntExact(Zstd.decompressByteArray(dst, 0, raw, src, at, n))
  }

  /** Snappy's raw format. */
  case object SnappyRaw extends BlockCodec(3, "snappy") {
    // A copy of 3 bytes is one of up to 64; those of 2 bytes are of less.
    override protected def most: Long = 22

    private[checkpoint] def newCompressor(): BlockCompressor = new BlockCompressor {
      def bound(length: Int): Int = Snappy.maxCompressedLength(length)
      def compress(src: Array[Byte], at: Int, n: Int, dst: Array[Byte], to: Int): Int =
        Snappy.compress(src, at, n, dst, to)
    }

    private[checkpoint] def decompress(
        src: Array[Byte],
        at: Int,
        n: Int,
        dst: Array[Byte],
        raw: Int
    ): Int = {
      // Snappy writes as much as the source says, so ask before it does.
      val length = Snappy.uncompressedLength(src, at, n)
      if (length == raw) Snappy.uncompress(src, at, n, dst, 0) else length
    }
  }

  /** A sequence of LZF chunks, each of at most 64 KiB and with its own short header. */
  case object Lzf extends BlockCodec(4, "lzf") {
    // A reference of 3 bytes is one to up to 264.
    override protected def most: Long = 88

    private[checkpoint] def newCompressor(): BlockCompressor = new BlockCompressor {
      def bound(length: Int): Int = LZFEncoder.estimateMaxWorkspaceSize(length)
      def compress(src: Array[Byte], at: Int, n: Int, dst: Array[Byte], to: Int): Int =
        LZFEncoder.appendEncoded(src, at, n, dst, to) - to
    }

    private[checkpoint] def decompress(
        src: Array[Byte],
        at: Int,
        n: Int,
        dst: Array[Byte],
        raw: Int
    ): Int = ChunkDecoderFactory.optimalInstance().decode(src, at, n, dst)
  }

  val all: Seq[BlockCodec] = Seq(Raw, Lz4, ZStd, SnappyRaw, Lzf)

  private val settable = all.filterNot(_ == Raw)

  /** As in Spark, a name is a short one in any case, or that of Spark's codec class. */
  def forName(name: String): BlockCodec = {
    val wanted = name.toLowerCase(Locale.ROOT)
    settable
      .find(c => wanted == c.name || wanted == s"org.apache.spark.io.${c.name}compressioncodec")
      .getOrElse {
        throw new InvalidException(
          s"$Setting is '$name', which is not a codec this state store can use",
          s"Set it to one of ${settable.map(_.name).sorted.mkString(", ")}."
        )
      }
  }

  def forId(id: Int): Option[BlockCodec] = all.find(_.id.toInt == id)
}
