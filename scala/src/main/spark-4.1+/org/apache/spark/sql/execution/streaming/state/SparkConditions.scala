package org.apache.spark.sql.execution.streaming.state

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.StructType

/** Spark's errors that have no condition yet in Spark 4.0, or are raised in another way there. */
object SparkConditions {

  def cannotLoadStore(cause: Throwable): Throwable = StateStoreErrors.cannotLoadStore(cause)

  def invalidStamp(stamp: Long, current: Long): Throwable =
    StateStoreErrors.invalidStamp(stamp, current)

  def invalidTransition(from: String, to: String, call: String, store: StateStoreId): Throwable =
    StateStoreErrors.invalidStateMachineTransition(from, to, call, store)

  /** Holds a row against its schemas, as `formatValidation.enabled` wants it. */
  def validate(
      key: UnsafeRow,
      keySchema: StructType,
      value: UnsafeRow,
      valueSchema: StructType,
      store: StateStoreId,
      conf: StateStoreConf
  ): Unit =
    StateStoreProvider.validateStateRowFormat(key, keySchema, value, valueSchema, store, conf)
}
