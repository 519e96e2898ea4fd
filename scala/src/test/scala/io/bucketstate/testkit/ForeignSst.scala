package io.bucketstate.testkit

import java.nio.file.Files
import java.util.UUID
import java.util.zip.CRC32C

import scala.util.Using

import org.rocksdb._

import io.bucketstate.checkpoint.io.{NioFileStore, RunName}
import io.bucketstate.checkpoint.run.{BucketSpan, Run, RunFile, VersionSpan}

/** Runs whose file RocksDB wrote with other settings than this project's writer has. */
object ForeignSst {

  /** As runs were written before this project had a writer of its own: with RocksDB's library, a filter over long prefixes. */
  def before(
      store: NioFileStore,
      content: Runs.Content,
      compression: CompressionType,
      blockBytes: Long
  ): Run = {
    RocksDB.loadLibrary()
    Using.resource(new BloomFilter(10.0)) { bloom =>
      val table = new BlockBasedTableConfig()
        .setFormatVersion(6)
        .setChecksumType(ChecksumType.kCRC32c)
        .setBlockSize(blockBytes)
        .setFilterPolicy(bloom)
        .setWholeKeyFiltering(false)
      write(store, content, table, compression, _.useCappedPrefixExtractor(1 << 30))
    }
  }

  def write(
      store: NioFileStore,
      content: Runs.Content,
      table: BlockBasedTableConfig,
      compression: CompressionType = CompressionType.LZ4_COMPRESSION,
      more: Options => Options = identity
  ): Run = TempFolder.use { work =>
    RocksDB.loadLibrary()
    val path = work.resolve("foreign.sst")
    Using.Manager { use =>
      val options =
        more(use(new Options()).setTableFormatConfig(table).setCompressionType(compression))
      val writer = use(new SstFileWriter(use(new EnvOptions()), options))
      writer.open(path.toString)
      content.foreach { case (place @ (family, bucket, _), value) =>
        val prefix = Array(family >> 8, family, bucket >> 8, bucket).map(_.toByte)
        val tagged = value.fold(Array[Byte](2))(1.toByte +: _.toArray)
        writer.put(prefix ++ Runs.keyOf(place), tagged)
      }
      writer.finish()
    }.get
    val name = RunName(9, 0, UUID.randomUUID()).name
    val bytes = Files.readAllBytes(path)
    val checksum = new CRC32C
    checksum.update(bytes)
    store.write(name)(_.write(bytes))
    val spans = content.keys.toSeq.groupBy(_._1).map { case (family, places) =>
      BucketSpan(family, places.map(_._2).min, places.map(_._2).max)
    }
    val file = RunFile(
      name,
      bytes.length.toLong,
      content.size.toLong,
      content.count(_._2.isEmpty).toLong,
      spans.toSeq,
      checksum.getValue.toInt
    )
    Run(VersionSpan(1, 9), Seq(file))
  }
}
