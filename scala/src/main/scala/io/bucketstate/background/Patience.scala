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
