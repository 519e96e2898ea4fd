package io.bucketstate.hdfs

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FileStatus, Path, PathFilter}
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream
import org.apache.spark.sql.execution.streaming.checkpointing.{
  CheckpointFileManager,
  FileContextBasedCheckpointFileManager
}

/** Spark's file manager for HDFS, in a process that dies when a file is to be closed whose name matches a setting. */
final class HaltingFileManager(path: Path, conf: Configuration) extends CheckpointFileManager {
  private val inner = new FileContextBasedCheckpointFileManager(path, conf)
  private val deadly = conf.get(HaltingFileManager.Setting)

  override def createAtomic(target: Path, overwrite: Boolean): CancellableFSDataOutputStream = {
    val file = inner.createAtomic(target, overwrite)
    if (!target.getName.matches(deadly)) file
    else
      new CancellableFSDataOutputStream(file) {
        override def cancel(): Unit = file.cancel()
        override def close(): Unit = {
          // All that was written is with the datanodes: the file is as whole as one can be that nobody closed.
          file.hflush()
          Runtime.getRuntime.halt(DyingWriter.ExitCode)
        }
      }
  }

  override def open(file: Path): FSDataInputStream = inner.open(file)
  override def list(folder: Path, filter: PathFilter): Array[FileStatus] =
    inner.list(folder, filter)
  override def mkdirs(folder: Path): Unit = inner.mkdirs(folder)
  override def exists(file: Path): Boolean = inner.exists(file)
  override def delete(file: Path): Unit = inner.delete(file)
  override def isLocal: Boolean = false
  override def createCheckpointDirectory(): Path = inner.createCheckpointDirectory()
}

object HaltingFileManager {
  val Setting = "test.halt.at"
}
