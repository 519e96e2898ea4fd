package io.bucketstate.background

/**
 * Of a task that waits for another one.
 *
 * @param limitMs      how long
 * @param requireAlive throws when it was killed
 */
private[bucketstate] final case class Patience(
    limitMs: Long,
    ticker: Ticker,
    requireAlive: () => Unit
)
