package io.bucketstate.plugin.status

import java.util.concurrent.TimeUnit

/**
 * What a histogram that only grows has recorded in the last minutes: percentiles over hours would hardly move when a query
 * becomes slow. Immutable.
 *
 * @param recorded within the window, or since the first of what is kept where that is younger
 * @param kept     the histogram as it was from time to time, the oldest first
 */
private[plugin] final class RecentTimes private (
    val recorded: Histogram,
    kept: Vector[RecentTimes.Seen]
) {
  import RecentTimes._

  /** With the histogram as it is now. */
  def next(all: Histogram, nanos: Long): RecentTimes = {
    def age(seen: Seen): Long = nanos - seen.nanos
    // The newest of those outside of the window says where the window begins.
    val within = kept.drop(kept.lastIndexWhere(age(_) >= WindowNanos).max(0))
    val begin = within.headOption.filter(age(_) >= WindowNanos).fold(Histogram.Empty)(_.all)
    val isDue = within.lastOption.forall(age(_) >= StepNanos)
    new RecentTimes(all - begin, if (isDue) within :+ Seen(nanos, all) else within)
  }
}

private[plugin] object RecentTimes {
  val WindowNanos: Long = TimeUnit.MINUTES.toNanos(5)

  /** A histogram is kept no more often than so, whatever the interval of telling is. */
  private val StepNanos: Long = WindowNanos / 30

  val Empty: RecentTimes = new RecentTimes(Histogram.Empty, Vector.empty)

  private final case class Seen(nanos: Long, all: Histogram)
}
