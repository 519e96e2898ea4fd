package io.bucketstate.background

/**
 * What a decision about the pace of background work rests on.
 *
 * @param isBusy   whether tasks are writing
 * @param lag      how much lies behind the newest manifest, 1 when a snapshot is due
 * @param growth   of the lag, per nanosecond; 0 if that is not known yet
 * @param workLeft nanoseconds that the work would still take without a rest
 */
private[bucketstate] final case class PaceSituation(
    isBusy: Boolean,
    lag: Double,
    growth: Double,
    workLeft: Double
)

/**
 * How much of a core background work may take while tasks run: so much that it is done when the lag
 * reaches `wantedLag`, spread evenly over the time until then, so that all batches are slowed down a
 * little and none a lot. Without tasks it may take all of it.
 *
 * @param calm      the least share, from 0 to 1: taken when there is time enough, so that work is not
 *                  drawn out for its own sake, as long as its input is held
 * @param wantedLag below the 2 that is promised, because what is left to do is an estimate, and the upload
 *                  comes after it
 */
private[bucketstate] final case class PacePlan(calm: Double = 0.25, wantedLag: Double = 1.6) {

  /** From `calm` to 1. */
  def share(situation: PaceSituation): Double = {
    val room = wantedLag - situation.lag
    if (!situation.isBusy || room <= 0) 1.0
    else math.max(calm, math.min(1.0, situation.workLeft * situation.growth / room))
  }

  /** Nanoseconds to rest after so many of work. */
  def rest(worked: Long, situation: PaceSituation): Long =
    (worked * (1 / share(situation) - 1)).toLong
}
