package io.bucketstate.plugin.doctor

import io.bucketstate.plugin.queries.PlacedStore
import io.bucketstate.plugin.status.StoreStatus

/**
 * What a restart would cost now, reckoned. Immutable.
 *
 * @param changelogs that it replays
 * @param updates    in these, if they are like the commits that were told of
 * @param bytes      that it has to read at most: the newest snapshots, of which a query reads what it asks for, and the changelogs
 * @param seconds    the first batch of the executor that has most of it, were it new
 */
private[plugin] final case class Restart(
    changelogs: Long,
    updates: Long,
    bytes: Long,
    seconds: Double
)

private[plugin] object Restart {

  def of(stores: Seq[PlacedStore]): Restart = {
    val times = Rules.all.restart
    val seconds = stores.groupBy(_.executor).values.map { its =>
      times.seconds + times.secondsPerKey * its.map(_.status.keys).sum +
        times.secondsPerUpdate * its.map(one => updatesOf(one.status)).sum
    }
    val all = stores.map(_.status)
    Restart(
      all.map(_.lag).sum,
      all.map(updatesOf).sum,
      all.map(bytesOf).sum,
      seconds.maxOption.getOrElse(0.0)
    )
  }

  /** What a restart reads of one store at most: its newest snapshot, and what it replays. */
  def bytesOf(store: StoreStatus): Long =
    store.snapshotBytes + perCommit(store, store.changelogBytes)

  private def updatesOf(store: StoreStatus): Long = perCommit(store, store.changed)

  /** What the versions since the newest snapshot come to, if they are like those that were counted. */
  private def perCommit(store: StoreStatus, counted: Long): Long =
    if (store.commits == 0) 0L
    else math.round(counted.toDouble / store.commits.toDouble * store.lag.toDouble)
}
