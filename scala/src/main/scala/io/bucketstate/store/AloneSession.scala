package io.bucketstate.store

import java.util.UUID
import java.util.concurrent.atomic.AtomicBoolean

import io.bucketstate.checkpoint.changelog.ChangelogFamily
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.snapshot.AloneState
import io.bucketstate.config.MetricKey
import io.bucketstate.history.CheckpointIds
import io.bucketstate.table.StateTable

/**
 * Writes a version whose state builds on nothing, whatever the checkpoint has of the versions before: a manifest alone. Its
 * table is its own, and in memory until the commit; whoever opens the version afterwards loads it.
 *
 * @param table      empty, with the version open that is written
 * @param mayReplace whether there is such a version already, of an attempt that came to nothing
 */
private[bucketstate] final class AloneSession(
    override val table: StateTable,
    override val ids: CheckpointIds,
    mayReplace: Boolean,
    stamp: Long,
    parts: StoreParts,
    newId: () => UUID
) extends WriteSession {
  import parts.{figures, keeper, lock, snapshots, ticker}

  private[this] val base = table.newest
  private[this] val ended = new AtomicBoolean

  override def commit(): StoreFigures = {
    val start = ticker.nanos
    val version = Attempt(base + 1, ids.own)
    val changes = table.openChanges
    val state = AloneState(
      version,
      newId(),
      changes.families.map(ChangelogFamily.of),
      changes.nextFamily,
      new MemorySource(table.families, version.version)
    )
    // What memory has is of what this replaces.
    keeper.forget()
    val manifest = snapshots.alone(state, mayReplace)
    table.commit()
    parts.host.snapshotMade(version.version)
    parts.host.committed(version.version)
    val own = Map(
      MetricKey.ChangedKeys -> manifest.runs.iterator.flatMap(_.files).map(_.entries).sum,
      MetricKey.WriteTime -> ticker.millisSince(start),
      MetricKey.RunBytes -> manifest.bytes,
      MetricKey.ForcedSnapshots -> 1L
    )
    val all = figures.drain(table, Map.empty)
    all.copy(values = all.values ++ own)
  }

  override def abort(): Unit = table.abort()

  /** Nobody else has this table. */
  override def abandon(): Unit = ()

  override def current: StoreFigures = figures.current(table)

  override def verify(): Unit = lock.verify(stamp)

  override def isCurrent: Boolean = lock.isHeldBy(stamp)

  override def end(): Unit = if (ended.compareAndSet(false, true)) {
    keeper.endRead(table, base)
    lock.release(stamp)
  }
}
