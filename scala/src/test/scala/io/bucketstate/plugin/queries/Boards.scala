package io.bucketstate.plugin.queries

import io.bucketstate.config.MetricKey
import io.bucketstate.plugin.status.{ExecutorStatus, LastCommit, StoreStatus}
import io.bucketstate.watch.StoreLabel

/** Queries and stores with figures that are given, for tests. */
private[plugin] object Boards {

  /** A store of 7 commits, each of which changed ten keys and wrote a thousand bytes. */
  def status(
      partition: Int,
      run: String = "run",
      version: Long = 7L,
      keys: Long = 100L,
      lag: Long = 2L,
      name: String = "default"
  ): StoreStatus = StoreStatus(
    StoreLabel(run, 0L, partition, name),
    version,
    keys,
    keys * 10,
    7L,
    70L,
    7000L,
    LastCommit(10L + partition, 2500000L),
    Map(MetricKey.SnapshotLag -> lag, MetricKey.ColdBytes -> 2000L)
  )

  def store(
      partition: Int,
      keys: Long = 100L,
      lag: Long = 2L,
      executor: String = "1",
      name: String = "default"
  ): PlacedStore = PlacedStore(executor, status(partition, keys = keys, lag = lag, name = name))

  def executor(name: String, stores: StoreStatus*): ExecutorStatus =
    ExecutorStatus(name, 6L << 20, 10L << 20, 1, stores, Nil)

  def batch(
      id: Long,
      operator: String = "dedupe",
      isOurs: Boolean = true
  ): Batch = Batch(
    id,
    "2026-03-01T00:00:00.000Z",
    Map("addBatch" -> 90L, "triggerExecution" -> 100L),
    isWatermarked = false,
    isFirst = id == 0,
    Vector(
      OperatorBatch(
        operator,
        isOurs,
        Map("numRowsTotal" -> 1000L, "memoryUsedBytes" -> 2048L, "commitTimeMs" -> 3L)
      )
    )
  )

  def query(
      stores: Seq[PlacedStore] = Nil,
      batches: Seq[Batch] = (0L to 9L).map(n => batch(n)),
      name: String = "counts",
      run: String = "run"
  ): QueryView = QueryView(
    run,
    "id",
    name,
    "2026-03-01T00:00:00.000Z",
    None,
    batches.size.toLong,
    batches.toVector,
    stores.toVector
  )
}
