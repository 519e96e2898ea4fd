package io.bucketstate.checkpoint.io

import scala.util.Try

import io.bucketstate.error.{BucketstateException, CorruptException, MissingException}

/** Recognises the files of Spark's own providers in a store's folder, for whoever cannot find ours there. */
object ForeignFiles {
  private val Version = """\d+(?:_[^./]+)?\.(zip|delta|snapshot)""".r

  private val Writers = Map(
    "zip" -> "RocksDBStateStoreProvider",
    "delta" -> "HDFSBackedStateStoreProvider",
    "snapshot" -> "HDFSBackedStateStoreProvider"
  )

  /**
   * How streams begin that Spark compresses by `spark.sql.streaming.stateStore.compression.codec`: lz4, lzf, snappy, zstd.
   * So do the changelogs of its RocksDB provider, which have the names of ours.
   */
  private val Compressed = Seq[Array[Byte]](
    "LZ4Block".getBytes,
    "ZV".getBytes,
    -126.toByte +: "SNAPPY".getBytes,
    Array(0x28, 0xb5, 0x2f, 0xfd).map(_.toByte)
  )

  /** The failure of a load, or what explains it: that another provider wrote the state. */
  def explaining(folder: FileStore)(failure: Throwable): Throwable = failure match {
    case e: MissingException               => explained(folder, e, e.file)
    case e: CorruptException if !e.isNewer => explained(folder, e, e.file)
    case e                                 => e
  }

  private def explained(folder: FileStore, failure: BucketstateException, file: String): Throwable =
    foreign(folder).orElse(compressed(folder, file)).fold[Throwable](failure) {
      case (name, provider) =>
        new MissingException(
          file,
          s"the state in ${folder.location} was written by Spark's $provider ($name)",
          "A query keeps the provider that it started with: set spark.sql.streaming.stateStore.providerClass to " +
            s"org.apache.spark.sql.execution.streaming.state.$provider for it, or start it from a new " +
            "checkpoint location.",
          failure
        )
    }

  /** A file, and the provider that writes such. A folder that cannot be listed explains nothing. */
  private def foreign(folder: FileStore): Option[(String, String)] =
    Try(folder.list()).toOption.toSeq.flatten
      .map(_.name)
      .collectFirst { case name @ Version(extension) => name -> Writers(extension) }

  /** The file that the load failed with, if it is a changelog of Spark's: there is nothing else before its first snapshot. */
  private def compressed(folder: FileStore, file: String): Option[(String, String)] =
    CheckpointFiles
      .parse(file.drop(file.lastIndexOf('/') + 1))
      .collect { case c: ChangelogName =>
        c.name
      }
      .filter { name =>
        val start =
          Try(folder.readPrefix(name, Compressed.map(_.length).max)).getOrElse(Array.empty)
        Compressed.exists(start.startsWith(_))
      }
      .map(_ -> Writers("zip"))
}
