package io.bucketstate.background

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

  /** The pace of the work that the calling thread begins now. */
  def pace(lag: () => Double, growth: () => Double): Pace =
    new Pace(plan, left => PaceSituation(isBusy(), lag(), growth(), left), ticker, pause)
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
