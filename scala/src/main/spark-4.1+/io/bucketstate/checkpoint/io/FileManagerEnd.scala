package io.bucketstate.checkpoint.io

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

/** A file manager may hold threads, which end when it is closed. */
private[io] object FileManagerEnd {
  def of(manager: CheckpointFileManager): Unit = manager.close()
}
