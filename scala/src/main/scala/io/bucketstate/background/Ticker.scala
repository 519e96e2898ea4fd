package io.bucketstate.background

/** Where durations come from: the one door to the JVM's monotonic clock. */
trait Ticker {

  /** Nanoseconds since some fixed moment. */
  def nanos: Long

  final def millisSince(start: Long): Long = (nanos - start) / 1000000L
}

object Ticker {
  object System extends Ticker {
    // scalafix:off DisableSyntax
    override def nanos: Long = java.lang.System.nanoTime()
    // scalafix:on DisableSyntax
  }
}
