package io.bucketstate.store

import io.bucketstate.checkpoint.io.Requests
import io.bucketstate.config.MetricKey
import io.bucketstate.rocksdb.follower.StoreDatabase
import io.bucketstate.table.{ExpiryFigures, StateTable}

/** Gathers the figures of a store from those who count them. Thread-safe. */
private[bucketstate] final class FigureSources(
    database: Option[StoreDatabase],
    snapshots: StoreSnapshots,
    warmUp: WarmUp,
    maintenance: StoreMaintenance,
    memory: StoreMemory,
    requests: Requests
) {

  /** The figures of a table as it is now. */
  def current(table: StateTable): StoreFigures =
    StoreFigures.of(table, snapshots.lastCount, besides, snapshot = snapshots.newestVersion)

  /**
   * After a commit: what has happened since the last report, which is reported once.
   *
   * @param writer what the writer itself has counted
   */
  def drain(table: StateTable, writer: Map[MetricKey, Long]): StoreFigures = {
    val expiry = table.families.iterator.map(_.expiry).foldLeft(ExpiryFigures.None)(_ + _)
    val drained =
      writer ++ database.fold(Map.empty[MetricKey, Long])(_.drainFigures(table.newest)) ++
        snapshots.drainFigures(table.newest) ++ memory.drainFigures(
          table
        ) ++ drainRequests() ++ Map(
          MetricKey.ExpiredKeys -> expiry.expired,
          MetricKey.LateWrites -> expiry.late,
          MetricKey.TimeBuckets -> expiry.timeBuckets.toLong,
          MetricKey.Uncounted -> (if (table.families.exists(_.keyCount.isEmpty)) 1L else 0L),
          MetricKey.WarmUpFailures -> warmUp.drainFailures(),
          MetricKey.RetentionFailures -> maintenance.failures,
          MetricKey.InternalKeys -> StoreFigures.internalKeys(table, snapshots.lastCount),
          MetricKey.ExternalFamilies -> StoreFigures.families(table, areInternal = false),
          MetricKey.InternalFamilies -> StoreFigures.families(table, areInternal = true)
        )
    StoreFigures.of(table, snapshots.lastCount, besides, drained, snapshots.newestVersion)
  }

  private def drainRequests(): Map[MetricKey, Long] =
    requests.drain().map { case (kind, n) => FigureSources.keyOf(kind) -> n }

  private def besides: Long = snapshots.heapBytes + database.fold(0L)(_.nativeBytes)
}

private object FigureSources {
  private def keyOf(kind: Requests.Kind): MetricKey = kind match {
    case Requests.Kind.Put    => MetricKey.ObjectPuts
    case Requests.Kind.Get    => MetricKey.ObjectGets
    case Requests.Kind.Head   => MetricKey.ObjectHeads
    case Requests.Kind.List   => MetricKey.ObjectLists
    case Requests.Kind.Delete => MetricKey.ObjectDeletes
  }
}
