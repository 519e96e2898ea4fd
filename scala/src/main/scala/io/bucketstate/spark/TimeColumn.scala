package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.types.{DateType, StructType, TimestampNTZType, TimestampType}

import io.bucketstate.config.ConfigKey
import io.bucketstate.error.InvalidException

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

  /** Seconds since 1970, [[TimeColumn.NoTime]] of a pair that has no time. */
  def second(key: UnsafeRow, value: UnsafeRow): Long = {
    val row = holder(key, value)
    if (row == null || row.isNullAt(path(last))) TimeColumn.NoTime
    else if (isDay) row.getInt(path(last)) * 86400L
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

  /** No time that microseconds or days can tell. */
  final val NoTime = Long.MinValue

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
