package io.bucketstate.checkpoint.io

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path, PathFilter}
import org.apache.spark.sql.execution.streaming.checkpointing.{
  CheckpointFileManager,
  FileSystemBasedCheckpointFileManager
}

import io.bucketstate.error.InvalidException

/** What Spark's ways to a folder do that a checkpoint cannot be kept with. */
object FileManagers {

  /** Spark's setting that names the user's own `CheckpointFileManager`; whoever names one, gets it. */
  val Setting: String = "spark.sql.streaming.checkpointFileManagerClass"

  private[this] val replacing = ConcurrentHashMap.newKeySet[Class[_]]()

  /**
   * Refuses a manager with which a second attempt's file gets lost where the first one's has its name. Spark's manager
   * for plain file systems publishes with `FileSystem.rename`, and where the name is taken it takes the answer `false`
   * for success. HDFS answers so, and so does the local file system that Hive brings into Spark's distributions;
   * nothing of Hadoop's tells who else does. It is therefore tried, once in a process for each class of file systems.
   * A file context replaces.
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
          if (!replaces(manager, folder)) throw refused(folder, system)
          replacing.add(system.getClass)
          ()
        }
      case _ =>
    }

  private def replaces(manager: CheckpointFileManager, folder: Path): Boolean = {
    val id = UUID.randomUUID()
    val file = new Path(folder, TemporaryName("replaced", id).name)
    try {
      for (content <- 1 to 2)
        Using.resource(manager.createAtomic(file, overwriteIfPossible = true))(_.write(content))
      Using.resource(manager.open(file))(_.read()) == 2
    } finally {
      val ofThis: PathFilter = _.getName.contains(id.toString)
      for (left <- manager.list(folder, ofThis)) manager.delete(left.getPath)
    }
  }

  private def refused(folder: Path, system: FileSystem): InvalidException =
    new InvalidException(
      s"$folder is reached through ${classOf[FileSystemBasedCheckpointFileManager].getSimpleName}, which does not " +
        s"replace files on ${system.getClass.getName}: what a second attempt at a batch writes would get lost",
      s"Remove the setting $Setting; if it is not set, give Hadoop's configuration the " +
        s"fs.AbstractFileSystem.${system.getScheme}.impl of that file system."
    )
}
