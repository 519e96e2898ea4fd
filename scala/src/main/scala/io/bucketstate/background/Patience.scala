package io.bucketstate.background

/**
 * How long a task waits for another one.
 *
 * @param limitMs      how long
 * @param requireAlive throws when it was killed
 */
private[bucketstate] final case class Patience(
    limitMs: Long,
    ticker: Ticker,
    requireAlive: () => Unit
)

private[bucketstate] object Patience {

  /** Milliseconds after which whoever waits looks again, whether told or not: its task may have been killed. */
  final val PollMs = 100L
}
