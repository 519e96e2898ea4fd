package io.bucketstate.testkit

import java.util.concurrent.atomic.AtomicInteger

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream
import org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager

/** Spark's file manager for local disks, in a process that is killed as soon as so many files were published. */
final class KillingFileManager(path: Path, conf: Configuration)
    extends OnTopOf(new FileSystemBasedCheckpointFileManager(path, conf)) {
  private[this] val last = conf.getInt(KillingFileManager.Setting, Int.MaxValue)

  override def createAtomic(target: Path, overwrite: Boolean): CancellableFSDataOutputStream = {
    val file = super.createAtomic(target, overwrite)
    new CancellableFSDataOutputStream(file) {
      override def cancel(): Unit = file.cancel()

      override def close(): Unit = KillingFileManager.synchronized {
        file.close()
        if (KillingFileManager.published.incrementAndGet() == last) KillingFileManager.kill()
      }
    }
  }
}

object KillingFileManager {
  val Setting = "test.kill.after"

  /** Files that this process has published. */
  val published: AtomicInteger = new AtomicInteger

  private def kill(): Unit = {
    new ProcessBuilder("kill", "-KILL", ProcessHandle.current.pid.toString).start().waitFor()
    // The signal is on its way: nothing more is to happen before it comes.
    Thread.currentThread.join()
  }
}
