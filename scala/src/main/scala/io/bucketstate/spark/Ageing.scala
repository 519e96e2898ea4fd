package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, SparkInternals}
import org.apache.spark.sql.types._

import io.bucketstate.config.{ConfigKey, TimeBucketConfig}
import io.bucketstate.error.InvalidException
import io.bucketstate.table.{Expiry, TimedValue}

/**
 * How the pairs of a store age. Thread-safe.
 *
 * @param column that has their event times; null where they age by the time of the batch that last wrote them
 */
private[spark] final class Ageing(val expiry: Expiry, val column: TimeColumn) {

  /** Start of a pair's time bucket, as [[TimedValue]] has it: never, where its column is null. */
  def startOf(key: UnsafeRow, value: UnsafeRow): Long =
    if (column.isNull(key, value)) TimedValue.Never else expiry.startOf(column.second(key, value))
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
      else if (store.id.storeName != DefaultStore)
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
          s"'${setting.default}' with the suffix .operator.${store.id.operatorId} takes this operator out."
      )
    }
  }

  private val DefaultStore =
    org.apache.spark.sql.execution.streaming.state.StateStoreId.DEFAULT_STORE_NAME
}

/**
 * A column of a key or a value that has an event time. Thread-safe.
 *
 * @param inKey whether it is the key's
 * @param path  ordinals from the outermost struct on, and how many fields each struct inside has
 * @param isDay whether it counts days; else microseconds
 */
private[spark] final class TimeColumn private (
    inKey: Boolean,
    path: Array[Int],
    sizes: Array[Int],
    isDay: Boolean
) {
  private[this] val last = path.length - 1

  /** Whether a pair has no time. */
  def isNull(key: UnsafeRow, value: UnsafeRow): Boolean = {
    val row = holder(key, value)
    row == null || row.isNullAt(path(last))
  }

  /** Seconds since 1970, of a pair that has a time. */
  def second(key: UnsafeRow, value: UnsafeRow): Long = {
    val row = holder(key, value)
    if (isDay) row.getInt(path(last)) * 86400L
    else Math.floorDiv(row.getLong(path(last)), 1000000L)
  }

  /** The innermost struct; null if there is none. */
  private def holder(key: UnsafeRow, value: UnsafeRow): UnsafeRow = {
    var row = if (inKey) key else value
    var i = 0
    while (i < last && row != null) {
      row = if (row.isNullAt(path(i))) null else row.getStruct(path(i), sizes(i))
      i += 1
    }
    row
  }
}

private[spark] object TimeColumn {

  /** The column of that name, with dots between structs and fields; the key's where both have it. */
  def find(name: String, store: StoreDefinition): TimeColumn = {
    val ofKey = times(store.keySchema, "").map(true -> _)
    val ofValue = times(store.valueSchema, "").map(false -> _)
    (ofKey ++ ofValue)
      .collectFirst { case (inKey, Found(`name`, path, sizes, isDay)) =>
        new TimeColumn(inKey, path.toArray, sizes.toArray, isDay)
      }
      .getOrElse {
        def listed(found: Seq[(Boolean, Found)]) =
          if (found.isEmpty) "none" else found.map(_._2.name).mkString(", ")
        throw new InvalidException(
          s"${ConfigKey.TimeBucketColumn.key} is '$name', which is no timestamp or date of store ${store.id}",
          s"Its timestamps and dates are, in the key: ${listed(ofKey)}; in the value: ${listed(ofValue)}. The key is " +
            s"${store.keySchema.simpleString}, the value ${store.valueSchema.simpleString}. For state without an event " +
            s"time leave out ${ConfigKey.TimeBucketColumn.key}: it then ages by when it was last written."
        )
      }
  }

  private final case class Found(name: String, path: List[Int], sizes: List[Int], isDay: Boolean)

  private def times(schema: StructType, prefix: String): Seq[Found] =
    schema.fields.toSeq.zipWithIndex.flatMap { case (field, i) =>
      val name = prefix + field.name
      field.dataType match {
        case TimestampType | TimestampNTZType => Seq(Found(name, List(i), Nil, isDay = false))
        case DateType                         => Seq(Found(name, List(i), Nil, isDay = true))
        case inner: StructType                =>
          times(inner, s"$name.").map(f =>
            f.copy(path = i :: f.path, sizes = inner.length :: f.sizes)
          )
        case _ => Nil
      }
    }
}
