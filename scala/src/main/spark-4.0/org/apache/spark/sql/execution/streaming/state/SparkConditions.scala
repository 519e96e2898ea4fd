package org.apache.spark.sql.execution.streaming.state

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.types.StructType
import org.apache.spark.{SparkException, SparkThrowable}

/** Spark's errors that have no condition yet in Spark 4.0, or are raised in another way by later ones. */
object SparkConditions {

  def cannotLoadStore(cause: Throwable): Throwable = cause match {
    case known: SparkException
        if Option(known.getCondition).exists(_.contains("CANNOT_LOAD_STATE_STORE")) =>
      known
    case other => QueryExecutionErrors.cannotLoadStore(other)
  }

  def invalidStamp(stamp: Long, current: Long): Throwable =
    new LaterCondition(
      "STATE_STORE_INVALID_STAMP",
      s"The store is no longer this caller's: its stamp is $stamp, and the current one is $current."
    )

  def invalidTransition(from: String, to: String, call: String, store: StateStoreId): Throwable =
    new LaterCondition(
      "STATE_STORE_INVALID_STATE_MACHINE_TRANSITION",
      s"$call of $store: it is $from, and cannot become $to."
    )

  /** Holds a row against its schemas, as `formatValidation.enabled` wants it. */
  def validate(
      key: UnsafeRow,
      keySchema: StructType,
      value: UnsafeRow,
      valueSchema: StructType,
      @annotation.unused store: StateStoreId,
      conf: StateStoreConf
  ): Unit = StateStoreProvider.validateStateRowFormat(key, keySchema, value, valueSchema, conf)
}

/** An error under the condition that Spark 4.1 has for it: Spark's own classes take those of their version alone. */
private final class LaterCondition(condition: String, message: String)
    extends IllegalStateException(s"[$condition] $message")
    with SparkThrowable {
  override def getCondition: String = condition
}
