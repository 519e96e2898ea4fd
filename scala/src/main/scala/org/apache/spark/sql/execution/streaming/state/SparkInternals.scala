package org.apache.spark.sql.execution.streaming.state

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.util.NextIterator

/**
 * The few members private to Spark that a state store provider needs. Everything else of this project
 * lives outside Spark's packages.
 */
object SparkInternals {

  /** Spark's error for a failed commit; users and Spark's own tests know its error class. */
  def failedToCommit(store: String, cause: Throwable): Throwable =
    QueryExecutionErrors.failedToCommitStateFileError(store, cause)

  /** Spark's error for a version below 0. */
  def unexpectedVersion(version: Long): Throwable =
    QueryExecutionErrors.unexpectedStateStoreVersion(version)

  /** Spark's error for a file of state that a version needs and that is not there. */
  def missingChangelog(file: String, provider: String, cause: Throwable): Throwable =
    QueryExecutionErrors.failedToReadDeltaFileNotExistsError(new Path(file), provider, cause)

  /** Spark's error for a file of state that cannot be read. */
  def unreadableFile(file: String, cause: Throwable): Throwable =
    QueryExecutionErrors.failedToReadStreamingStateFileError(new Path(file), cause)

  /** Spark's error when the state does not fit into memory. */
  def notEnoughMemory(storeId: String, cause: OutOfMemoryError): Throwable =
    QueryExecutionErrors.notEnoughMemoryToLoadStore(storeId, "BUCKETED_STORE_PROVIDER", cause)

  /** Spark's error for a store that another thread does not let go of. */
  def storeStillHeld(
      storeId: String,
      operation: String,
      wantedBy: String,
      heldBy: String,
      waitedMs: Long,
      stack: String
  ): Throwable =
    QueryExecutionErrors.unreleasedThreadError(
      storeId,
      operation,
      wantedBy,
      heldBy,
      waitedMs,
      stack
    )

}

/**
 * What `getStateStoreChangeDataReader` must return: Spark's `NextIterator`, a class private to Spark.
 *
 * @param advance the next change, None at the end
 */
final class ChangeRecords(advance: () => Option[(RecordType.Value, UnsafeRow, UnsafeRow, Long)])
    extends NextIterator[(RecordType.Value, UnsafeRow, UnsafeRow, Long)] {

  override def getNext(): (RecordType.Value, UnsafeRow, UnsafeRow, Long) =
    advance().getOrElse {
      finished = true
      null
    }

  override def close(): Unit = ()
}
