package io.bucketstate.hdfs

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream
import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager

import io.bucketstate.testkit.OnTopOf

/** Spark's file manager for HDFS, in a process that dies when a file is to be closed whose name matches a setting. */
final class HaltingFileManager(path: Path, conf: Configuration)
    extends OnTopOf(new FileContextBasedCheckpointFileManager(path, conf)) {
  private val deadly = conf.get(HaltingFileManager.Setting)

  override def createAtomic(target: Path, overwrite: Boolean): CancellableFSDataOutputStream = {
    val file = super.createAtomic(target, overwrite)
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
}

object HaltingFileManager {
  val Setting = "test.halt.at"
}
