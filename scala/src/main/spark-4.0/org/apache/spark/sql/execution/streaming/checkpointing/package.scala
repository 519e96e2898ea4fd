package org.apache.spark.sql.execution
package streaming

/** Where Spark 4.1 and later ones have these classes, which are one package above it in Spark 4.0. */
package object checkpointing {
  type CheckpointFileManager = streaming.CheckpointFileManager
  val CheckpointFileManager: streaming.CheckpointFileManager.type = streaming.CheckpointFileManager

  type FileContextBasedCheckpointFileManager = streaming.FileContextBasedCheckpointFileManager
  type FileSystemBasedCheckpointFileManager = streaming.FileSystemBasedCheckpointFileManager

  type OffsetSeqMetadata = streaming.OffsetSeqMetadata
  val OffsetSeqMetadata: streaming.OffsetSeqMetadata.type = streaming.OffsetSeqMetadata
}
