package io.bucketstate.bench

import java.nio.file.{Files, Path}

import org.apache.hadoop.fs.FileUtil

/** The one temporary folder of a benchmark; gone at the end, also after a failure or an interrupt. */
final class WorkFolder private (val root: Path) extends AutoCloseable {
  private val hook = sys.addShutdownHook(delete(root))

  def checkpoint(name: String): Path = Files.createTempDirectory(root, name)

  def delete(folder: Path): Unit = {
    FileUtil.fullyDelete(folder.toFile)
    ()
  }

  override def close(): Unit = {
    delete(root)
    hook.remove()
    ()
  }
}

object WorkFolder {

  /** Spark's local files (RocksDB's among them) go there too. */
  def create(parent: Path): WorkFolder = {
    val root = Files.createTempDirectory(Files.createDirectories(parent), "bucketstate-bench-")
    sys.props("spark.local.dir") = Files.createDirectory(root.resolve("local")).toString
    new WorkFolder(root)
  }
}
