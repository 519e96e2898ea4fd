package io.bucketstate.background

import java.time.Clock
import java.util.UUID

/**
 * What differs each time it is asked for, handed in at the door.
 *
 * @param clock  the time of day: for the age of files, and for reports
 * @param ticker for durations
 * @param newId  a name that nobody else uses; must be safe for several threads
 */
private[bucketstate] final case class ClocksAndIds(
    clock: Clock,
    ticker: Ticker,
    newId: () => UUID
)
