package io.bucketstate.store

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.config.MetricKey
import io.bucketstate.error.{ConflictException, CorruptException, MissingException}
import io.bucketstate.history.CheckpointIds
import io.bucketstate.table.StateTable

/**
 * A version opened for a writer.
 *
 * @param base          the version, as it was asked for
 * @param lineage       whether the version's file is still what memory was built from
 * @param loadMs        how long the task waited until it was loaded; None if it was in memory
 * @param forceSnapshot whether the writer's own version must have a snapshot
 */
private[bucketstate] final case class OpenedForWrite(
    opened: Opened,
    base: Attempt,
    ids: CheckpointIds,
    lineage: LineageCheck,
    loadMs: Option[Long],
    forceSnapshot: Boolean
)

/**
 * What one writer does to the table and the files, while its stamp is the lock's current one.
 *
 * @param committed told of the version when it is durable; what it throws fails the commit
 */
private[bucketstate] final class TableWriter(
    version: OpenedForWrite,
    stamp: Long,
    lock: WriterLock,
    commits: Commits,
    figures: FigureSources,
    committed: Long => Unit
) extends WriteSession {
  import version.opened

  private[this] val lazyLoadsBefore = table.lazyLoads
  @volatile private[this] var named = version.ids

  override def table: StateTable = opened.table

  override def ids: CheckpointIds = named

  override def commit(): StoreFigures = {
    requireBase()
    val own = commits.commit(table, ids, version.base, opened.commitId)
    named = own.ids
    if (version.forceSnapshot) commits.force(table, ids)
    committed(table.newest)
    figures.drain(table, own.figures ++ openingFigures ++ loadingFigures)
  }

  override def abort(): Unit = commits.abort(table)

  override def current: StoreFigures = figures.current(table)

  override def verify(): Unit = lock.verify(stamp)

  override def isCurrent: Boolean = lock.isHeldBy(stamp)

  override def end(): Unit = lock.release(stamp)

  /** Throws unless what the changes build on is sound, and still the version that Spark means. */
  private def requireBase(): Unit =
    try {
      version.lineage.settle()
      table.requireVerified()
    } catch {
      // A read that failed says nothing of what is in memory. A table that is not sound is loaded anew.
      case e @ (_: ConflictException | _: MissingException | _: CorruptException) =>
        commits.dropMemory()
        throw e
    }

  private def loadingFigures: Map[MetricKey, Long] = Map(
    MetricKey.LazyLoads -> (table.lazyLoads - lazyLoadsBefore),
    MetricKey.ForcedSnapshots -> (if (version.forceSnapshot) 1L else 0L)
  )

  private def openingFigures: Map[MetricKey, Long] = (opened, version.loadMs) match {
    case (_, Some(ms))           => Map(MetricKey.TableReloads -> 1L, MetricKey.ReloadTime -> ms)
    case (_: Opened.Reopened, _) => Map(MetricKey.TableReopens -> 1L)
    case _                       => Map(MetricKey.TableHits -> 1L)
  }
}
