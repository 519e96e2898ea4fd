package io.bucketstate.store

/**
 * What a store's work beside the batches is done with.
 *
 * @param threads     for what is soon done
 * @param longThreads for what takes its time
 * @param isBusy      whether tasks are writing
 */
private[bucketstate] final class Background(
    val threads: NeediestFirst,
    val longThreads: NeediestFirst,
    isBusy: () => Boolean,
    plan: PacePlan,
    ticker: Ticker,
    pause: Pause
) {

  /** The pace of what is soon done, and of which the calling thread begins some now. */
  def pace(lag: () => Double, growth: () => Double): Pace =
    paceOf(lag, growth, () => false)

  /** The pace of what takes its time: it stands back while something is done that does not. */
  def longPace(lag: () => Double, growth: () => Double): Pace =
    paceOf(lag, growth, () => threads.isAtWork)

  private def paceOf(lag: () => Double, growth: () => Double, isOutranked: () => Boolean): Pace =
    new Pace(
      plan,
      left => PaceSituation(isBusy(), isOutranked(), lag(), growth(), left),
      ticker,
      pause
    )
}

private[bucketstate] object Background {

  /** With the one pool and the tasks of this process. */
  def ofProcess(ticker: Ticker): Background = new Background(
    BackgroundPool.byNeed,
    BackgroundPool.longByNeed,
    () => Writers.OfProcess.areActive,
    PacePlan(),
    ticker,
    Pause.System
  )
}
