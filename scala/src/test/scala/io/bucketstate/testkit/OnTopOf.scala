package io.bucketstate.testkit

import org.apache.hadoop.fs.{FSDataInputStream, FileStatus, Path, PathFilter}
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream

/** A file manager that leaves all to another one; whoever extends it changes what happens to some files. */
abstract class OnTopOf(inner: CheckpointFileManager) extends CheckpointFileManager {
  override def createAtomic(file: Path, overwrite: Boolean): CancellableFSDataOutputStream =
    inner.createAtomic(file, overwrite)
  override def open(file: Path): FSDataInputStream = inner.open(file)
  override def list(folder: Path, filter: PathFilter): Array[FileStatus] =
    inner.list(folder, filter)
  override def mkdirs(folder: Path): Unit = inner.mkdirs(folder)
  override def exists(file: Path): Boolean = inner.exists(file)
  override def delete(file: Path): Unit = inner.delete(file)
  override def isLocal: Boolean = inner.isLocal
  override def createCheckpointDirectory(): Path = inner.createCheckpointDirectory()
}
