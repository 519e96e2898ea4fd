package io.bucketstate.move.write

import java.io.{FilterOutputStream, OutputStream}

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.state.StateStoreConf

import io.bucketstate.checkpoint.io.FileStores
import io.bucketstate.move.read.HdfsFormat

/** Writes a state as a snapshot of Spark's `HDFSBackedStateStoreProvider`, whose provider would hold it in memory. */
private[move] object HdfsTarget {

  /** @return its length in bytes */
  def write(
      folder: Path,
      version: Long,
      conf: StateStoreConf,
      hadoop: Configuration,
      rows: Iterator[(Array[Byte], Array[Byte])]
  ): Long = {
    val files = FileStores.forFolder(folder, hadoop)
    val hasChecksums = HdfsFormat.hasChecksums(conf)
    try {
      files.createFolder()
      files.write(s"$version.snapshot") { raw =>
        val out = HdfsFormat.compressed(new Unclosed(raw), conf)
        rows.foreach { case (place, value) =>
          val key = ExportMaker.key(place)
          out.writeInt(key.length)
          out.write(key)
          if (hasChecksums) {
            out.writeInt(value.length + HdfsFormat.ChecksumBytes)
            HdfsFormat.put(HdfsFormat.checksum(key, value, 0), out)
          } else out.writeInt(value.length)
          out.write(value)
        }
        out.writeInt(HdfsFormat.End)
        out.close()
      }
      files.list().find(_.name == s"$version.snapshot").fold(0L)(_.length)
    } finally files.close()
  }

  /** What compresses holds bytes back until it is closed; the file is closed by whoever has opened it. */
  private final class Unclosed(file: OutputStream) extends FilterOutputStream(file) {
    override def write(bytes: Array[Byte], from: Int, count: Int): Unit =
      file.write(bytes, from, count)

    override def close(): Unit = flush()
  }
}
