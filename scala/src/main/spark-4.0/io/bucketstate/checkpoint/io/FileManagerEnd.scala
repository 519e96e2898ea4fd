package io.bucketstate.checkpoint.io

import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

/** A file manager of Spark 4.0 holds nothing that has to be closed. */
private[io] object FileManagerEnd {
  def of(@annotation.unused manager: CheckpointFileManager): Unit = ()
}
