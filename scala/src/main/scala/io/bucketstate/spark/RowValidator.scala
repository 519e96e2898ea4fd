package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.{
  SparkConditions,
  StateStoreConf,
  StateStoreId
}
import org.apache.spark.sql.types.StructType

/**
 * Spark's format validation (`formatValidation.enabled`): the first row read after a state was loaded is
 * held against the schema, which catches a checkpoint written by a query whose rows mean something else.
 * Rows that were never in a file are the query's own, and are not checked, as in
 * `HDFSBackedStateStoreProvider`. Thread-safe: two threads may both check, which does no harm.
 */
private[spark] final class RowValidator(
    storeId: StateStoreId,
    keySchema: StructType,
    valueSchema: StructType,
    conf: StateStoreConf
) {
  @volatile private[this] var done = true

  /** A state was loaded from files. */
  def expectRestored(): Unit = done = !conf.formatValidationEnabled

  /** Whether `check` has nothing to do: no other row is checked until a state is loaded. */
  def isDone: Boolean = done

  def check(key: UnsafeRow, value: UnsafeRow): Unit = if (!done) {
    SparkConditions.validate(key, keySchema, value, valueSchema, storeId, conf)
    done = true
  }
}
