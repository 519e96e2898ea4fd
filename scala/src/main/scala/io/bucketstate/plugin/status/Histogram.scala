package io.bucketstate.plugin.status

/**
 * How many durations were at most as long as each of some bounds: what Prometheus calls a histogram. Those of several
 * processes add up, which percentiles do not. Immutable.
 *
 * @param counts of durations by the first bound of [[Histogram.BoundsMs]] that they do not exceed; the last is
 *               of those above all bounds
 */
final case class Histogram(counts: Vector[Long], sumNanos: Long) {
  def count: Long = counts.sum

  def record(nanos: Long): Histogram = {
    val at = Histogram.BoundsMs.indexWhere(nanos <= _ * 1000000L) match {
      case -1    => Histogram.BoundsMs.size
      case found => found
    }
    Histogram(counts.updated(at, counts(at) + 1), sumNanos + nanos)
  }

  def +(other: Histogram): Histogram = Histogram(
    counts.lazyZip(other.counts).map(_ + _),
    sumNanos + other.sumNanos
  )

  /** What was recorded since an earlier one of the same. */
  def -(earlier: Histogram): Histogram = Histogram(
    counts.lazyZip(earlier.counts).map(_ - _),
    sumNanos - earlier.sumNanos
  )

  /**
   * The least bound that so large a share does not exceed, in milliseconds, and the last one where that lies above all: a
   * figure that went away would hide what is worst. None if nothing was recorded.
   */
  def atMostMs(share: Double): Option[Long] = {
    val wanted = math.ceil(count * share).toLong
    val upTo = counts.scanLeft(0L)(_ + _).tail
    if (count == 0) None
    else Histogram.BoundsMs.lift(upTo.indexWhere(_ >= wanted)).orElse(Histogram.BoundsMs.lastOption)
  }
}

object Histogram {
  val BoundsMs: Vector[Long] =
    Vector(1L, 2L, 5L, 10L, 25L, 50L, 100L, 250L, 500L, 1000L, 2500L, 5000L, 10000L, 30000L)

  val Empty: Histogram = Histogram(Vector.fill(BoundsMs.size + 1)(0L), 0L)
}
