package io.bucketstate.checkpoint.io

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.hadoop.hdfs.DistributedFileSystem
import org.apache.spark.sql.execution.streaming.checkpointing.{
  CheckpointFileManager,
  FileSystemBasedCheckpointFileManager
}

import io.bucketstate.error.InvalidException

/** Spark's way to a folder, if a checkpoint can be kept with it. */
private[checkpoint] object FileManagers {

  /** Spark's setting that names the user's own. */
  val Setting = "spark.sql.streaming.checkpointFileManagerClass"

  /**
   * On HDFS a plain rename to a name that is taken returns false, and Spark's manager for plain file systems takes
   * that for success: a second attempt at a version would be told that its changes are stored, while the file is still
   * the first one's. A file context replaces, atomically.
   */
  def open(folder: Path, conf: Configuration): CheckpointFileManager =
    CheckpointFileManager.create(folder, conf) match {
      case _: FileSystemBasedCheckpointFileManager if isHdfs(folder, conf) =>
        throw new InvalidException(
          s"$folder is on HDFS and is reached through ${classOf[FileSystemBasedCheckpointFileManager].getSimpleName}, " +
            "which does not replace files there: what a second attempt at a batch writes would get lost",
          s"Remove the setting ${Setting}; if it is not set, give back to Hadoop's configuration " +
            "its fs.AbstractFileSystem.hdfs.impl."
        )
      case manager => manager
    }

  private def isHdfs(folder: Path, conf: Configuration): Boolean =
    folder.getFileSystem(conf).isInstanceOf[DistributedFileSystem]
}
