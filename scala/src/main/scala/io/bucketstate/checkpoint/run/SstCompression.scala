package io.bucketstate.checkpoint.run

import java.nio.file.Files
import java.util.concurrent.ConcurrentHashMap

import scala.util.Using
import scala.util.control.NonFatal

import org.rocksdb._

import io.bucketstate.checkpoint.io.BlockCodec

/** Which of RocksDB's compressions stands for a codec of Spark's. */
private[checkpoint] object SstCompression {
  private val supported = new ConcurrentHashMap[CompressionType, java.lang.Boolean]

  /** The codec's own if RocksDB has it and this build can do it, else LZ4, else none. */
  def of(codec: BlockCodec): CompressionType = {
    val wanted = codec match {
      case BlockCodec.Raw       => CompressionType.NO_COMPRESSION
      case BlockCodec.ZStd      => CompressionType.ZSTD_COMPRESSION
      case BlockCodec.SnappyRaw => CompressionType.SNAPPY_COMPRESSION
      case _                    => CompressionType.LZ4_COMPRESSION
    }
    Seq(wanted, CompressionType.LZ4_COMPRESSION)
      .find(isSupported)
      .getOrElse(CompressionType.NO_COMPRESSION)
  }

  def isSupported(kind: CompressionType): Boolean =
    kind == CompressionType.NO_COMPRESSION || supported.computeIfAbsent(kind, k => tried(k))

  /** RocksDB keeps no list for Java, and a build without the library stores the blocks as they are. */
  private def tried(kind: CompressionType): Boolean = {
    RocksDB.loadLibrary()
    val file = Files.createTempFile("bucketstate", ".sst")
    try
      Using
        .Manager { use =>
          val options = use(new Options()).setCompressionType(kind)
          val writer = use(new SstFileWriter(use(new EnvOptions()), options))
          writer.open(file.toString)
          writer.put(Array[Byte](1), new Array[Byte](64 * 1024))
          writer.finish()
          Files.size(file) < 32 * 1024
        }
        .recover { case NonFatal(_) => false }
        .get
    finally {
      Files.deleteIfExists(file)
      ()
    }
  }
}
