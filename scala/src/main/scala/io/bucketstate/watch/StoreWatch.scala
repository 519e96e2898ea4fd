package io.bucketstate.watch

import java.util.{Collections, WeakHashMap}

/**
 * A listener that is told of what the stores of this process do, beside Spark. It is called by task threads and by those that close
 * stores: an implementation is thread-safe, quick and does not throw.
 *
 * A store is known by its `WatchedStore`, not by its label: one that was unloaded may be closed after
 * its successor with the same label has begun.
 */
trait StoreWatch {
  def committed(store: WatchedStore, report: CommitReport): Unit

  /** A version could not be opened or committed, or a task was cut off meanwhile. */
  def failed(store: WatchedStore, failure: Throwable): Unit

  /**
   * A task failed while it had a version of the store open. The cause may be the store, such as a look-up that could not
   * read a file, or anything else that the task did. What `failed` was told of does not come again.
   */
  def taskFailed(store: WatchedStore, failure: Throwable): Unit

  def closed(store: WatchedStore): Unit
}

/** The one of this process. Without the plugin nobody is told. */
object StoreWatch {
  @volatile private[this] var watching: Option[StoreWatch] = None

  def current: Option[StoreWatch] = watching

  /** From now on `watch` is told. */
  def begin(watch: StoreWatch): Unit = synchronized { watching = Some(watch) }

  /** Nobody is told any more, unless another one has begun since. */
  def end(watch: StoreWatch): Unit = synchronized {
    if (watching.contains(watch)) watching = None
  }

  /** A failure and what it came of, the last cause last. A chain of causes may be a ring, so it has an end. */
  def causesOf(failure: Throwable): Seq[Throwable] =
    Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).take(MostCauses).toSeq

  private final val MostCauses = 50
}

/**
 * One store as the watch of its process knows it, for as long as it is open. Thread-safe.
 *
 * @param nanos a clock for durations
 */
final class WatchedStore(val label: StoreLabel, nanos: () => Long) {
  @volatile private[this] var hasClosed = false

  // The watch knows of these. A task may have a version open twice, and ends with what it could not commit.
  private[this] val reported =
    Collections.newSetFromMap(new WeakHashMap[Throwable, java.lang.Boolean])

  /**
   * Opens a version, and tells of a failure.
   */
  def opening[A](open: => A): A =
    try open
    catch {
      case failure: Throwable =>
        failed(failure)
        throw failure
    }

  /**
   * Commits, and tells how long it took or that it failed.
   *
   * @param report what is told of the commit, given the time that it took in nanoseconds
   */
  def committing[A](commit: => A)(report: (A, Long) => CommitReport): A =
    StoreWatch.current match {
      case None        => commit
      case Some(watch) =>
        val began = nanos()
        val done =
          try commit
          catch {
            case failure: Throwable =>
              failed(failure)
              throw failure
          }
        watch.committed(this, report(done, nanos() - began))
        done
    }

  /**
   * Tells that a task failed that had a version open, once for each failure, and not of what was told of as a version was
   * opened or committed.
   *
   * @param failure what Spark says that the task failed with
   */
  def taskFailed(failure: Throwable): Unit =
    StoreWatch.current.foreach { watch =>
      if (isNews(failure)) watch.taskFailed(this, failure)
    }

  private def failed(failure: Throwable): Unit =
    StoreWatch.current.foreach { watch =>
      reported.synchronized(reported.add(failure))
      watch.failed(this, failure)
    }

  private def isNews(failure: Throwable): Boolean = {
    val causes = StoreWatch.causesOf(failure)
    reported.synchronized(!causes.exists(reported.contains) && reported.add(failure))
  }

  /** Whether nothing stands for it any more. A task that was not waited for to the end may commit all the same. */
  def isClosed: Boolean = hasClosed

  def closed(): Unit = {
    hasClosed = true
    StoreWatch.current.foreach(_.closed(this))
  }
}

object WatchedStore {

  /** A state that is only looked at is told of under no run. */
  val nobodys: WatchedStore = new WatchedStore(StoreLabel("", 0L, 0, ""), () => 0L)
}
