package io.bucketstate.checkpoint.io

import java.io.IOException
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.spark.sql.execution.streaming.checkpointing.{
  CheckpointFileManager,
  FileSystemBasedCheckpointFileManager
}

import io.bucketstate.error.InvalidException

/** What Spark's ways to a folder do that a checkpoint cannot be kept with. */
object FileManagers {

  /** Spark's setting that names the user's own `CheckpointFileManager`; who names one, gets it. */
  val Setting: String = "spark.sql.streaming.checkpointFileManagerClass"

  private[this] val replacing = ConcurrentHashMap.newKeySet[Class[_]]()

  /**
   * Refuses a manager with which a second attempt's file gets lost where the first one's has its name. Spark's manager
   * for plain file systems publishes with `FileSystem.rename` and takes the answer `false` for success. HDFS answers
   * so, and so does the local file system that Hive brings into Spark's distributions; nothing of Hadoop's tells who
   * does. It is therefore tried, once in a process for each class of file systems. A file context replaces.
   *
   * @throws java.io.IOException if the folder cannot be written to
   */
  private[checkpoint] def requireReplacing(
      manager: CheckpointFileManager,
      folder: Path,
      conf: Configuration
  ): Unit =
    manager match {
      case _: FileSystemBasedCheckpointFileManager =>
        val system = folder.getFileSystem(conf)
        if (!replacing.contains(system.getClass)) {
          if (!renameReplaces(system, folder)) throw refused(folder, system)
          replacing.add(system.getClass)
          ()
        }
      case _ =>
    }

  private def renameReplaces(system: FileSystem, folder: Path): Boolean = {
    def temporary() = new Path(folder, TemporaryName("rename", UUID.randomUUID()).name)
    val (first, second) = (temporary(), temporary())
    try {
      for ((path, content) <- Seq(first -> 1, second -> 2))
        Using.resource(system.create(path))(_.write(content))
      val isSaidDone =
        try system.rename(second, first)
        catch { case _: IOException => false }
      isSaidDone && Using.resource(system.open(first))(_.read()) == 2
    } finally for (path <- Seq(first, second)) system.delete(path, false)
  }

  private def refused(folder: Path, system: FileSystem): InvalidException =
    new InvalidException(
      s"$folder is reached through ${classOf[FileSystemBasedCheckpointFileManager].getSimpleName}, which does not " +
        s"replace files on ${system.getClass.getName}: what a second attempt at a batch writes would get lost",
      s"Remove the setting $Setting; if it is not set, give Hadoop's configuration the " +
        s"fs.AbstractFileSystem.${system.getScheme}.impl of that file system."
    )
}
