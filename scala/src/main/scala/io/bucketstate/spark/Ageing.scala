package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.{
  NoPrefixKeyStateEncoderSpec,
  SparkInternals,
  StateStoreId
}
import org.apache.spark.sql.types.NullType

import io.bucketstate.config.{ConfigKey, TimeBucketConfig}
import io.bucketstate.error.InvalidException
import io.bucketstate.record.{Expiry, TimedValue}

/**
 * How the pairs of a store age. Thread-safe.
 *
 * @param column that has their event times; null where they age by the time of the batch that last wrote them
 */
private[spark] final class Ageing(val expiry: Expiry, column: TimeColumn) {

  /**
   * Start of a pair's time bucket, as [[TimedValue]] has it: never, where its column is null.
   *
   * @param writeTime where it ages by the time of the batch
   */
  def startOf(key: UnsafeRow, value: UnsafeRow, writeTime: Long): Long =
    if (column == null) writeTime
    else {
      val second = column.second(key, value)
      if (second == TimeColumn.NoTime) TimedValue.Never else expiry.startOf(second)
    }
}

private[spark] object Ageing {

  /** Throws where the operator relies on state to stay until it removes it, or there is no such column. */
  def of(store: StoreDefinition, wanted: TimeBucketConfig): Ageing = {
    refusal(store, wanted.expireAfter.isDefined).foreach(throw _)
    val column = wanted.column.map(TimeColumn.find(_, store)).orNull
    new Ageing(Expiry(wanted.span, wanted.expireAfter, column == null), column)
  }

  private def refusal(store: StoreDefinition, expires: Boolean): Option[InvalidException] = {
    val values = store.valueSchema.fieldNames
    val watermarked =
      store.keySchema.fields.find(_.metadata.contains(SparkInternals.WatermarkKey)).map(_.name)
    val why =
      if (store.useColumnFamilies)
        Some(
          "its operator keeps several kinds of state that belong together (transformWithState, which has a TTL of its own, or a join)"
        )
      else if (store.id.storeName != StateStoreId.DEFAULT_STORE_NAME)
        Some(
          s"'${store.id.storeName}' is one of several stores of a join, whose rows would be lost on one side alone"
        )
      else if (store.multiValued || !store.keySpec.isInstanceOf[NoPrefixKeyStateEncoderSpec])
        Some(
          "its operator finds its state by a part of the key (session windows), and would miss what has expired"
        )
      else if (!expires) None
      else if (store.keySchema.nonEmpty && store.keySchema.forall(_.dataType == NullType))
        Some("it is the count of a limit, which would let more rows through without it")
      else if (values.contains("timeoutTimestamp"))
        Some("its groups have timeouts, and a group that has expired would never time out")
      else if (values.contains("expiresAtMicros"))
        Some("dropDuplicatesWithinWatermark removes its state by itself")
      else
        watermarked.map(name =>
          s"its operator removes state by the watermark of '$name', and gives out rows of what it removes"
        )
    val setting =
      if (expires) ConfigKey.TimeBucketExpireAfter else ConfigKey.TimeBucketColumn
    why.map { reason =>
      new InvalidException(
        s"${setting.key} is set for store ${store.id}, but $reason",
        s"Set it for other queries or operators alone: ${setting.key}.operator.<number> or .query.<name>; " +
          s"'${setting.default}' with the suffix .operator.${store.id.operatorId} takes this operator out, and with " +
          s".query.<name>.operator.${store.id.operatorId} where it is set for a query."
      )
    }
  }
}
