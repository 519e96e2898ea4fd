package io.bucketstate.background

/**
 * Lets the thread that makes a snapshot rest as the plan says. It works for a slice of some milliseconds
 * and rests in proportion: short enough that every batch meets a bit of both.
 *
 * All but `hurry` belong to the thread that does the work.
 *
 * @param situation told how many nanoseconds of work are left
 */
private[bucketstate] final class Pace(
    plan: PacePlan,
    situation: Double => PaceSituation,
    ticker: Ticker,
    pause: Pause
) extends WorkGate {
  import Pace._

  private[this] val worker = Thread.currentThread()
  @volatile private[this] var awaited = false
  private[this] var records = 0L
  private[this] var done = 0L
  private[this] var worked = 0L
  private[this] var since = ticker.nanos

  /** Somebody waits for the outcome, or there will be none: a rest ends now, and none follows. */
  def hurry(): Unit = {
    awaited = true
    pause.wake(worker)
  }

  def begin(records: Long): Unit = {
    this.records = done + records
    // What came before says nothing of how long a record takes.
    since = ticker.nanos
  }

  def pass(): Unit = {
    done += 1
    if (done % RecordsPerLook == 0) {
      BackgroundThreads.goesOn()
      if (!awaited) look()
    }
  }

  private def look(): Unit = {
    val slice = ticker.nanos - since
    if (slice >= SliceNanos) {
      worked += slice
      val left = worked.toDouble / done * math.max(0L, records - done)
      rest(math.min(LongestRest, plan.rest(slice, situation(left))))
      since = ticker.nanos
    }
  }

  private def rest(nanos: Long): Unit = {
    val start = ticker.nanos
    var left = nanos
    while (left > 0 && !awaited) {
      pause.rest(left)
      left = nanos - (ticker.nanos - start)
      // An interrupt would end every rest at once, and the loop would spin.
      if (Thread.currentThread().isInterrupted) left = 0
    }
  }
}

private[bucketstate] object Pace {

  /** Records are a microsecond or so apart: so the clock costs nothing, and a slice is not much overrun. */
  final val RecordsPerLook = 64

  /** Long against what waking up costs, short against a batch. */
  final val SliceNanos = 2000000L

  /** After a long step without a record, such as an upload: by then the situation is another one. */
  final val LongestRest = 20000000L
}
