package io.bucketstate.testkit

import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FileStatus, Path, PathFilter}
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream
import org.apache.spark.sql.execution.streaming.checkpointing.{
  CheckpointFileManager,
  FileSystemBasedCheckpointFileManager
}

/** Spark's file manager for local disks, in a process that is killed as soon as so many files were published. */
final class KillingFileManager(path: Path, conf: Configuration) extends CheckpointFileManager {
  private[this] val inner = new FileSystemBasedCheckpointFileManager(path, conf)
  private[this] val last = conf.getInt(KillingFileManager.Setting, Int.MaxValue)

  override def createAtomic(target: Path, overwrite: Boolean): CancellableFSDataOutputStream = {
    val file = inner.createAtomic(target, overwrite)
    new CancellableFSDataOutputStream(file) {
      override def cancel(): Unit = file.cancel()

      override def close(): Unit = KillingFileManager.synchronized {
        file.close()
        if (KillingFileManager.published.incrementAndGet() == last) KillingFileManager.kill()
      }
    }
  }

  override def open(file: Path): FSDataInputStream = inner.open(file)
  override def list(folder: Path, filter: PathFilter): Array[FileStatus] =
    inner.list(folder, filter)
  override def mkdirs(folder: Path): Unit = inner.mkdirs(folder)
  override def exists(file: Path): Boolean = inner.exists(file)
  override def delete(file: Path): Unit = inner.delete(file)
  override def isLocal: Boolean = true
  override def createCheckpointDirectory(): Path = inner.createCheckpointDirectory()
}

object KillingFileManager {
  val Setting = "test.kill.after"

  /** What a shell sees of a process that SIGKILL has ended. */
  val ExitCode = 137

  /** Files that this process has published. */
  val published: AtomicInteger = new AtomicInteger

  private def kill(): Unit = {
    new ProcessBuilder("kill", "-KILL", ProcessHandle.current.pid.toString).start().waitFor()
    // The signal is on its way: nothing more is to happen before it comes.
    Thread.currentThread.join()
  }
}
