package io.bucketstate.checkpoint.snapshot

import java.util.ArrayDeque

/**
 * What lies behind the newest manifest: the versions after it, their bytes, and how fast they come. Answers what
 * [[SnapshotPlan]] is asked about. Not thread-safe; every call is O(1) but for what it drops.
 */
private[bucketstate] final class Uncovered(plan: SnapshotPlan) {
  import Uncovered._

  private[this] var covered = 0L
  private[this] val versions = new ArrayDeque[(Long, Long)]() // after `covered`, with their bytes
  private[this] var bytes = 0L
  private[this] var last = Option.empty[Long] // when the newest one was added
  private[this] var interval = 0.0 // nanoseconds between versions, as of late; 0 if not known

  /** A table was loaded: these versions, with their bytes, were replayed on top of that manifest. */
  def begin(manifest: Long, replayed: Iterable[(Long, Long)]): Unit = {
    covered = manifest
    versions.clear()
    bytes = 0L
    replayed.foreach { case (version, length) => add(version, length) }
  }

  /** A version became durable, at this instant in nanoseconds. Those that it replaces count no more. */
  def committed(version: Long, length: Long, now: Long): Unit = {
    add(version, length)
    last.foreach { before =>
      val latest = (now - before).toDouble
      interval = if (interval == 0) latest else interval + Recent * (latest - interval)
    }
    last = Some(now)
  }

  /** No retry replaces this version any more: those above it were given up. */
  def opened(version: Long, running: Boolean): SnapshotSituation = {
    dropAbove(version)
    // Memory went back behind the snapshot: that is stale, and the next one finds its own base.
    if (version < covered) covered = version
    SnapshotSituation(covered, version, bytes, running)
  }

  /** There is a manifest of this version; of one before the newest, if it was long in the making. */
  def published(version: Long): Unit = {
    covered = math.max(covered, version)
    while (!versions.isEmpty && versions.peekFirst()._1 <= version)
      bytes -= versions.removeFirst()._2
  }

  /** Versions between the newest manifest and this one. */
  def behind(newest: Long): Long = math.max(0L, newest - covered)

  /** See [[SnapshotPlan.lag]]. */
  def lag: Double = plan.lag(versions.size.toLong, bytes)

  /** How much the lag grows per nanosecond. */
  def growth: Double =
    if (versions.isEmpty || interval == 0) 0.0 else lag / versions.size / interval

  private def add(version: Long, length: Long): Unit = {
    dropAbove(version - 1)
    versions.addLast(version -> length)
    bytes += length
  }

  private def dropAbove(version: Long): Unit =
    while (!versions.isEmpty && versions.peekLast()._1 > version)
      bytes -= versions.removeLast()._2
}

private object Uncovered {

  /** The weight of the latest interval between versions: the last three or four decide. */
  private final val Recent = 0.3
}
