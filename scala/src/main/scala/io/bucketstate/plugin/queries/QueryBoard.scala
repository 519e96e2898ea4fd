package io.bucketstate.plugin.queries

import scala.collection.mutable

import io.bucketstate.plugin.status.{ExecutorStatus, LastIds}
import io.bucketstate.watch.StoreLabel

/**
 * How much a [[QueryBoard]] keeps.
 *
 * @param ended   queries that have ended, the last ones
 * @param batches of each query, the newest
 */
private[plugin] final case class Kept(ended: Int, batches: Int)

/**
 * What is known of the queries of an application: of those that run, and of the last that have ended. It is made of events
 * alone, so that those of a log lead to what a live application shows. Thread-safe.
 */
private[plugin] final class QueryBoard(kept: Kept) {
  import QueryBoard._

  private[this] val queries = mutable.LinkedHashMap.empty[String, Known]
  // Runs that have ended, in the order of their ends.
  private[this] val over = mutable.LinkedHashSet.empty[String]
  private[this] val executors = mutable.LinkedHashMap.empty[String, ExecutorView]
  // Executors in the order of their loss.
  private[this] val lost = mutable.LinkedHashSet.empty[String]
  private[this] val gone = new LastIds

  def began(run: String, id: String, name: String, started: String): Unit = synchronized {
    // Spark lets a query run once at a time, and may drop the event of an end when it has too many.
    queries.values.map(_.view).filter(view => view.id == id && view.end.isEmpty).toVector.foreach {
      view => if (view.run != run) ended(view.run, None)
    }
    queries.put(run, Known(QueryView(run, id, name, started, None, 0L, Vector.empty, Vector.empty)))
    ()
  }

  def had(run: String, batch: Batch): Unit = change(run) { known =>
    val view = known.view
    // Spark may tell of a batch twice, the second time with more.
    val before = view.batches.filterNot(_.id == batch.id)
    val isNew = before.size == view.batches.size
    val isFirst = view.seen == 0 || view.batches.exists(b => b.id == batch.id && b.isFirst)
    known.copy(view =
      view.copy(
        seen = view.seen + (if (isNew) 1 else 0),
        batches = (before :+ batch.copy(isFirst = isFirst)).sortBy(_.id).takeRight(kept.batches)
      )
    )
  }

  /** @param failure what it failed with; its first line is kept */
  def ended(run: String, failure: Option[String]): Unit = synchronized {
    change(run) { known =>
      val line = failure.map(_.linesIterator.nextOption().getOrElse("").take(LongestFailure))
      known.copy(view = known.view.copy(end = Some(QueryEnd(line))))
    }
    if (queries.contains(run)) over += run
    over.headOption.filter(_ => over.size > kept.ended).foreach { first =>
      over -= first
      queries -= first
    }
  }

  /** Takes what an executor tells, unless it was removed. Stores of runs that are not known are left out. */
  def told(status: ExecutorStatus): Unit = synchronized {
    if (!gone.has(status.executor)) take(status)
  }

  /** Takes what a log has of an executor. One that was removed had told of it before: it stays lost, with its stores. */
  def toldByLog(status: ExecutorStatus): Unit = synchronized(take(status))

  private def take(status: ExecutorStatus): Unit = {
    put(
      ExecutorView(
        status.executor,
        status.memoryBytes,
        status.memoryLimit,
        status.queued,
        status.storeCount,
        isLost = gone.has(status.executor)
      )
    )
    status.stores.groupBy(_.label.run).foreach { case (run, stores) =>
      change(run) { known =>
        // A store that has moved is still loaded where it was, for a while.
        val newer = stores
          .filter(store => known.stores.get(store.label).forall(_.status.version <= store.version))
        known
          .copy(stores = known.stores ++ newer.map(s => s.label -> PlacedStore(status.executor, s)))
      }
    }
  }

  /** An executor is there no more. What it told of stores stays, until another one has them. */
  def removed(executor: String): Unit = synchronized {
    gone.add(executor)
    executors.get(executor).foreach(one => put(one.copy(isLost = true)))
  }

  /** Whether an executor was removed, also one that had told nothing. */
  def isGone(executor: String): Boolean = synchronized(gone.has(executor))

  /** Whether a run that is known has ended. */
  def hasEnded(run: String): Boolean = synchronized(over(run))

  private def put(one: ExecutorView): Unit = {
    executors.put(one.executor, one)
    if (one.isLost) lost += one.executor
    lost.headOption.filter(_ => lost.size > MostLost).foreach { first =>
      lost -= first
      executors -= first
    }
  }

  /** Goes on from what another board has shown. */
  def restore(shown: BoardView): Unit = synchronized {
    shown.queries.foreach { query =>
      val stores = query.stores.map(placed => placed.status.label -> placed).toMap
      queries.put(query.run, Known(query, stores))
      if (query.end.nonEmpty) over += query.run
    }
    shown.executors.foreach { one =>
      put(one)
      if (one.isLost) gone.add(one.executor)
    }
  }

  def view: BoardView = synchronized {
    BoardView(
      queries.values.map(known => known.whole).toVector,
      executors.values.toVector
    )
  }

  private def change(run: String)(next: Known => Known): Unit = synchronized {
    queries.updateWith(run)(_.map(next))
    ()
  }
}

private[plugin] object QueryBoard {
  private final val MostLost = 50
  private final val LongestFailure = 300

  /** A query, with its stores apart. */
  private final case class Known(
      view: QueryView,
      stores: Map[StoreLabel, PlacedStore] = Map.empty
  ) {
    def whole: QueryView = view.copy(stores = stores.values.toVector.sorted(QueryView.Order))
  }
}
