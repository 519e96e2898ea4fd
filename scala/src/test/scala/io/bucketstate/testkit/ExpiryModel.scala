package io.bucketstate.testkit

import scala.collection.immutable.SortedMap

import io.bucketstate.record.{Expiry, TimeBuckets, TimedValue}

/**
 * What the state of a version should be where records expire: a map in which all that has expired is gone at once.
 * Times are those of [[TimedValue]] and [[TimeBuckets]].
 *
 * @param expiry None where nothing ever expires
 */
final case class ExpiryModel[K, V](
    expiry: Option[Expiry],
    newest: Long = TimeBuckets.NoTime,
    horizon: Long = 0L,
    untimed: Long = TimedValue.Never,
    items: Map[K, ExpiryModel.Item[V]] = Map.empty[K, ExpiryModel.Item[V]]
) {
  import ExpiryModel._
  import TimedValue.{Never, Untimed}

  def size: Int = items.size

  def plain: Map[K, V] = items.map { case (key, item) => key -> item.value }

  def get(key: K): Option[V] = items.get(key).map(_.value)

  /** When the next version is opened, at a time in seconds. */
  def begun(now: Long = 0L): ExpiryModel[K, V] = expiry.fold(this) { rules =>
    val seen = if (rules.byProcessingTime) math.max(newest, rules.startOf(now)) else newest
    val next =
      if (seen < 0) horizon
      else math.max(horizon, math.max(0L, (seen - rules.after.get) / rules.span * rules.span))
    val first = if (untimed == Never && seen >= 0) seen else untimed
    copy(newest = seen, horizon = next, untimed = first).shown
  }

  def shown: ExpiryModel[K, V] = copy(items = items.filter(i => timeOf(i._2) >= horizon))

  private def timeOf(item: Item[V]): Long = if (item.start == Untimed) untimed else item.start

  def put(key: K, value: V, start: Long = Never): ExpiryModel[K, V] = {
    val seen = copy(newest = if (start == Never) newest else math.max(newest, start))
    items.get(key) match {
      case Some(old) if start != Never =>
        val least = if (timeOf(old) == Never) horizon else timeOf(old)
        seen.copy(items = items.updated(key, Item(math.max(start, least), value)))
      case None if start < horizon => seen
      case _                       => seen.copy(items = items.updated(key, Item(start, value)))
    }
  }

  def removed(key: K): ExpiryModel[K, V] = copy(items = items - key)

  def times: TimeBuckets = {
    val (without, timed) = items.values.partition(_.start == Untimed)
    val keys = timed.groupMapReduce(_.start)(_ => 1L)(_ + _).to(SortedMap)
    TimeBuckets(newest, horizon, untimed, without.size.toLong, keys)
  }
}

object ExpiryModel {

  /** A value with its time. */
  final case class Item[V](start: Long, value: V)
}
