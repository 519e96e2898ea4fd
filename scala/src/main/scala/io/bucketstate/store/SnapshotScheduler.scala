package io.bucketstate.store

import java.util.concurrent.CancellationException
import java.util.concurrent.atomic.AtomicBoolean

import org.slf4j.LoggerFactory

import io.bucketstate.background.{Background, Pace, Patience, Uninterrupted, WorkGate}
import io.bucketstate.checkpoint.manifest.Manifest
import io.bucketstate.checkpoint.recovery.Recovered
import io.bucketstate.checkpoint.snapshot.{
  AloneState,
  Compaction,
  SnapshotPlan,
  SnapshotReport,
  SnapshotTarget,
  Snapshotter,
  Uncovered
}
import io.bucketstate.config.MetricKey
import io.bucketstate.error.BucketstateException

/**
 * A snapshot that is due.
 *
 * @param capture gives what to take it of, once and when it begins: nothing is held by what only waits
 */
private[bucketstate] final class DueSnapshot(val capture: () => SnapshotTarget) {
  private[this] val claimed = new AtomicBoolean

  /** True for the first who asks: that one takes the snapshot, or gives it up. */
  def claim(): Boolean = claimed.compareAndSet(false, true)
}

/**
 * Decides when a store's snapshots are made, and has them made beside the batches: at most one at a time,
 * of the newest version that Spark has opened for the next batch, so that requests which come meanwhile
 * are served by one. A failure is counted, logged and, since the version is still uncovered, tried again
 * with the next batch; it never reaches a task. Thread-safe; what the task calls is O(1).
 *
 * @param published told of each new manifest
 * @param isGone    whether there is no checkpoint any more
 * @param patience  of a task that waits for the end of a snapshot; its ticker is the clock of all durations
 */
private[bucketstate] final class SnapshotScheduler(
    snapshotter: Snapshotter,
    plan: SnapshotPlan,
    location: String,
    published: Manifest => Unit,
    isGone: () => Boolean,
    patience: Patience,
    background: Background
) {
  import SnapshotScheduler._
  import patience.ticker

  private[this] val log = LoggerFactory.getLogger(classOf[SnapshotScheduler])
  private[this] val uncovered = new Uncovered(plan)
  private[this] var runCount = 0
  private[this] var runBytes = 0L // of the newest manifest
  private[this] var running = false // from when one is due until it has ended
  private[this] var queued: DueSnapshot = _
  private[this] var paces = Set.empty[Pace] // of what is under way in the background
  private[this] var compactions = 0 // under way
  private[this] var forcing = 0 // callers that wait for a snapshot
  private[this] var isWanted = false // although none is due by the plan
  private[this] var closed = false
  private[this] var figures = Figures()

  /** The table was loaded from the checkpoint. */
  def restored(recovered: Recovered): Unit = {
    snapshotter.startFrom(
      recovered.manifest,
      doubtsFiles = recovered.repaired > 0,
      recovered.followed
    )
    synchronized {
      uncovered.begin(
        recovered.manifest.fold(0L)(_.version),
        recovered.tail.map(replayed => replayed.attempt.version -> replayed.bytes)
      )
      runCount = recovered.manifest.fold(0)(_.runs.size)
      runBytes = recovered.manifest.fold(0L)(_.bytes)
      figures = figures.copy(repairs = figures.repairs + recovered.repaired)
    }
  }

  /** A version became durable. */
  def checkpointed(version: Long, changelogBytes: Long): Unit = synchronized {
    uncovered.committed(version, changelogBytes, ticker.nanos)
  }

  /**
   * Spark has opened a version for the next batch: no retry replaces it any more. If a snapshot of it is
   * due, the caller has to `run` or `submit` one; until that has ended, none is due.
   */
  def opened(version: Long): Boolean = synchronized {
    val situation = uncovered.opened(version, running)
    val isDue = !closed && (plan.isDue(situation) || (isWanted && plan.isPossible(situation)))
    if (isDue) {
      running = true
      isWanted = false
    }
    isDue
  }

  /** One is due with the next version that is opened, whatever the plan says; one under way hurries. */
  def flush(): Unit = {
    synchronized { isWanted = true }
    hurry()
  }

  /** Takes the snapshot in the background, at its pace. If that cannot be, it has failed. */
  def submit(snapshot: DueSnapshot): Unit = {
    synchronized { queued = snapshot }
    try background.threads.submit(() => lag)(() => runPaced(snapshot))
    catch {
      case failure: Throwable =>
        if (snapshot.claim()) {
          failed("The snapshot of the newest version", failure)
          end()
        }
        failure match {
          // "Unable to create native thread" is an OutOfMemoryError, and passes.
          case _: Exception | _: OutOfMemoryError => ()
          case error                              => throw error
        }
    }
  }

  /** Takes the snapshot now, without a rest; failures stay here too. */
  def run(snapshot: DueSnapshot): Unit = run(snapshot, WorkGate.Open, compactsBeside = false)

  private def runPaced(snapshot: DueSnapshot): Unit =
    paced(() => lag, () => growth)(run(snapshot, _, plan.compactsBeside))

  /** Hurries as long as somebody waits for a snapshot. */
  private def paced(lag: () => Double, growth: () => Double)(work: Pace => Unit): Unit = {
    val own = background.pace(lag, growth)
    synchronized {
      paces += own
      if (forcing > 0) own.hurry()
    }
    try work(own)
    finally synchronized(paces -= own)
  }

  private def run(snapshot: DueSnapshot, gate: WorkGate, compactsBeside: Boolean): Unit =
    if (snapshot.claim()) {
      var what = "The snapshot of the newest version"
      try {
        val start = ticker.nanos
        val target = snapshot.capture()
        what = s"The snapshot of version ${target.file.version}"
        try
          // All batches may have been taken back since it was due, or what is newest has become a manifest by itself.
          if (isUncovered(target.file.version)) {
            val report = snapshotter.take(target, gate = gate, compactsBeside = compactsBeside)
            succeeded(report, ticker.millisSince(start))
            report.compaction.foreach(submit)
          }
        finally target.release()
      } catch {
        case _: CancellationException => ()
        case e: InterruptedException  =>
          Thread.currentThread().interrupt()
          failed(what, e)
        case failure @ (_: Exception | _: LinkageError) => failed(what, failure)
      } finally end()
    }

  /** Merges runs in the background, while snapshots go on. */
  private def submit(compaction: Compaction): Unit =
    try background.longThreads.submit(() => compaction.lag)(() => run(compaction))
    catch {
      case failure @ (_: Exception | _: OutOfMemoryError) =>
        compaction.giveUp()
        failed("A compaction", failure)
    }

  private def run(compaction: Compaction): Unit = if (beginCompaction()) {
    val start = ticker.nanos
    try
      paced(() => compaction.lag, () => growth * compaction.lagPerSnapshot) { pace =>
        compacted(compaction.run(pace), ticker.millisSince(start))
      }
    catch {
      case _: CancellationException                   => ()
      case failure @ (_: Exception | _: LinkageError) => failed("A compaction", failure)
    } finally endCompaction()
  }

  /** False if it is of no use any more. */
  private def beginCompaction(): Boolean = synchronized {
    if (!closed) compactions += 1
    !closed
  }

  private def compacted(written: Long, millis: Long): Unit = synchronized {
    figures = figures.copy(
      millis = figures.millis + millis,
      written = figures.written + written,
      rewritten = figures.rewritten + written
    )
  }

  private def endCompaction(): Unit = synchronized {
    compactions -= 1
    notifyAll()
  }

  /** Ends a snapshot that nobody has begun to take. */
  def giveUp(snapshot: DueSnapshot): Unit = if (snapshot.claim()) end()

  /**
   * Takes a snapshot of a version because the caller must have it; throws if that fails. Spark asks so for stores that it
   * takes to be behind, which may be all of them at once. So it is of what has changed, like any other that has an older one
   * to build on. Waits for the end of one that is under way, as long as it has patience: then throws `UnavailableException`.
   */
  def force(target: SnapshotTarget): Unit = hurrying {
    val start = ticker.nanos
    val report =
      snapshotter.take(target, compactsBeside = plan.compactsBeside, patience = Some(patience))
    succeeded(report, ticker.millisSince(start))
    report.compaction.foreach(submit)
  }

  /** Makes a version that is a manifest by itself; throws if that fails. Waits as `force` does. */
  def alone(state: AloneState, mayReplace: Boolean): Manifest =
    hurrying(snapshotter.alone(state, mayReplace, Some(patience)))

  /** What waits for the snapshot under way. */
  private def hurrying[A](work: => A): A = {
    synchronized(forcing += 1)
    try {
      hurry()
      work
    } finally synchronized(forcing -= 1)
  }

  private def isUncovered(version: Long): Boolean = synchronized(uncovered.behind(version) > 0)

  /** Figures since the last call, and of now. */
  def drainFigures(newest: Long): Map[MetricKey, Long] = synchronized {
    val drained = figures
    figures = Figures()
    Map(
      MetricKey.Snapshots -> drained.snapshots,
      MetricKey.SnapshotTime -> drained.millis,
      MetricKey.SnapshotFailures -> drained.failures,
      MetricKey.RunBytes -> drained.written,
      MetricKey.CompactionBytes -> drained.rewritten,
      MetricKey.Repairs -> drained.repairs,
      MetricKey.SnapshotLag -> uncovered.behind(newest),
      MetricKey.Runs -> runCount.toLong,
      MetricKey.ColdBytes -> runBytes
    )
  }

  /** Cancels what is queued or under way, and waits until that has ended. */
  def close(): Unit = {
    snapshotter.cancel()
    closing(giveUp)
    // What still reads the files must not lose them, whoever is in a hurry.
    val isOver = synchronized(Uninterrupted.await(this, CloseMs, ticker)(!isAtWork))
    if (isOver) snapshotter.discard()
    else log.warn(s"A snapshot in $location still runs, ${CloseMs / 1000} s after it was cancelled")
  }

  private def isAtWork: Boolean = synchronized(running || compactions > 0)

  /**
   * Finishes what is queued or under way: for a store that is closed after each batch. Whoever is interrupted waits no longer
   * for another thread: its task was killed, and what is due then is due again with the next one.
   */
  def finish(): Unit = {
    closing(run)
    val start = ticker.nanos
    def isWorthIt = running && ticker.millisSince(start) < patience.limitMs
    try synchronized(while (isWorthIt) wait(Patience.PollMs))
    catch { case _: InterruptedException => Thread.currentThread().interrupt() }
  }

  /** @param end what becomes of a snapshot that nobody has begun to take */
  private def closing(end: DueSnapshot => Unit): Unit = {
    hurry()
    val waiting = synchronized {
      closed = true
      Option(queued)
    }
    waiting.foreach(end)
  }

  private def succeeded(report: SnapshotReport, millis: Long): Unit = {
    synchronized {
      uncovered.published(report.manifest.version)
      runCount = report.manifest.runs.size
      runBytes = report.manifest.bytes
      figures = figures.copy(
        snapshots = figures.snapshots + 1,
        millis = figures.millis + millis,
        written = figures.written + report.written,
        rewritten = figures.rewritten + report.rewritten
      )
    }
    published(report.manifest)
  }

  private def failed(what: String, failure: Throwable): Unit = {
    synchronized { figures = figures.copy(failures = figures.failures + 1) }
    // Somebody has deleted it: a query that has ended needs it no more.
    if (failure.isInstanceOf[BucketstateException] && isGone())
      log.info(s"$what in $location was not made: the checkpoint is gone")
    else
      log.warn(
        s"$what in $location failed; the changelogs and runs keep the state, and it is tried again with " +
          "a later batch",
        failure
      )
  }

  private def end(): Unit = synchronized {
    running = false
    queued = null
    notifyAll()
  }

  private def hurry(): Unit = synchronized(paces).foreach(_.hurry())

  private def lag: Double = synchronized(uncovered.lag)

  private def growth: Double = synchronized(uncovered.growth)
}

private object SnapshotScheduler {

  /** Longer than any single file call should take. */
  private final val CloseMs = 30000L

  final case class Figures(
      snapshots: Long = 0,
      millis: Long = 0,
      failures: Long = 0,
      written: Long = 0,
      rewritten: Long = 0,
      repairs: Long = 0
  )
}
