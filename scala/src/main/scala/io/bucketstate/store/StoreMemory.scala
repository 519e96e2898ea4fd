package io.bucketstate.store

import java.util.ArrayDeque
import java.util.concurrent.atomic.LongAdder

import io.bucketstate.background.Ticker
import io.bucketstate.checkpoint.run.open.ReadLimits
import io.bucketstate.checkpoint.run.read.RunAccess
import io.bucketstate.config.{ConfigKey, Engine, MetricKey, StoreConfig}
import io.bucketstate.history.UnwrittenBytes
import io.bucketstate.memory.{EvictionPolicy, HeapLimit, MemoryTracker, MemoryUser}
import io.bucketstate.record.BucketResidence
import io.bucketstate.rocksdb.state.ExecutorNative
import io.bucketstate.table.StateTable

/**
 * What one store has in memory, and how it comes to have less. Counts among the stores of the process from its first
 * version until it is closed: one that could not be made counts nowhere. Thread-safe.
 *
 * @param runs  of which heap is held beside its table
 * @param flush asks for a snapshot at once: what it holds can leave memory then
 */
private[bucketstate] final class StoreMemory(
    keeper: TableKeeper,
    runs: RunAccess,
    flush: () => Unit,
    config: StoreConfig,
    host: StoreHost,
    ticker: Ticker
) extends MemoryUser {
  import StoreMemory._

  private[this] val (limit, setting) = limitOf(config, host)
  // A database has what is not in memory at hand: memory is for what was used last.
  private[this] val isBeforeDatabase = config.engine == Engine.RocksDb
  private[this] val tracker = if (isBeforeDatabase) HotTracker else Tracker
  @volatile private[this] var account: tracker.Account = _ // null while it does not count
  private[this] var closed = false
  private[this] val commits = new ArrayDeque[(Long, Long)]() // versions in use of late, and when
  private[this] val evictions = new LongAdder
  private[this] val evictedBytes = new LongAdder
  private[this] val flushes = new LongAdder
  private[this] var lookUpsBefore = 0L

  override def bytes: Long = keeper.memoryBytes + runs.heapBytes

  /** A version is about to be opened. */
  def opening(): Unit = if (account == null) synchronized {
    if (account == null && !closed) account = register()
  }

  /** A version is opened for writing: the limits count that the store was opened with. */
  def writing(): Unit = {
    opening()
    val own = account
    if (own != null) {
      own.writing()
      runs.writing()
    }
  }

  /** Whether so many bytes may be loaded that need not be there. */
  def hasRoom(bytes: Long): Boolean = {
    val own = account
    !isBeforeDatabase && own != null && own.hasRoom(bytes)
  }

  /** Whether a batch may keep so many bytes of what it looked up, which are in [[bytes]]. */
  def mayKeep(found: Long): Boolean =
    if (isBeforeDatabase) found <= tracker.limit / FoundShare
    else {
      val own = account
      own != null && own.hasRoom(0L)
    }

  def requireRoom(changes: Long): Unit = {
    val own = account
    if (own != null) own.requireRoom(changes)
  }

  /** A version of the table was committed: where there is too much in memory, some of it leaves. */
  def committed(table: StateTable): Unit = {
    val own = account
    remember(table.newest)
    if (own != null) own.committed()
    if (isBeforeDatabase) makeRoomLater(table)
    if (!isBeforeDatabase && own != null && own.isShort && needsFlush(table)) {
      flushes.increment()
      flush()
    }
  }

  override def shrink(bytes: Long): Unit = keeper.whenIdle { table =>
    val families = table.families.iterator.map(f => f.spec.id -> f).toMap
    var freed = 0L
    table.settle()
    val order = EvictionPolicy.inOrder(residences(table), inUseFrom(table))
    order.iterator.takeWhile(_ => freed < bytes).foreach { bucket =>
      val free = families(bucket.family).evict(bucket.bucket)
      evicted(free)
      freed += free
    }
  }

  /** What the next version's writes will take leaves beside them, so that its commit need not wait for it. */
  private def makeRoomLater(table: StateTable): Unit = {
    val most = tracker.limit / 100 * QuietShare
    if (tracker.total > most) {
      val order = EvictionPolicy.inOrder(residences(table), inUseFrom(table)).toVector
      table.evictLater(order, EvictionPolicy.shareOf(bytes, tracker.total, most))(evicted)
    }
  }

  private def evicted(bytes: Long): Unit = if (bytes != 0) {
    evictions.increment()
    evictedBytes.add(bytes)
  }

  private def residences(table: StateTable): Seq[BucketResidence] =
    table.families.flatMap(_.residences)

  /** Figures since the last call, and of now. */
  def drainFigures(table: StateTable): Map[MetricKey, Long] = {
    val lookUps = table.families.iterator.map(_.lookUps).sum
    // A table that was loaded anew counts from 0.
    val since = if (lookUps < lookUpsBefore) lookUps else lookUps - lookUpsBefore
    lookUpsBefore = lookUps
    val reads = runs.drain()
    Map(
      // Before a database the tracker's limit is the heap's part of it alone.
      MetricKey.MemoryLimit ->
        (if (isBeforeDatabase) limit else tracker.limit) / Math.max(1, tracker.stores),
      MetricKey.Evictions -> evictions.sumThenReset(),
      MetricKey.EvictedBytes -> evictedBytes.sumThenReset(),
      MetricKey.ColdBuckets -> table.families.iterator.map(_.notWhole.toLong).sum,
      MetricKey.ColdReads -> since,
      MetricKey.ColdReadsByFilter -> reads.byFilter,
      MetricKey.ColdReadsFromCache -> reads.fromCache,
      MetricKey.ColdReadsFromFiles -> reads.fromFiles,
      MetricKey.MemoryFlushes -> flushes.sumThenReset()
    )
  }

  def close(): Unit = synchronized {
    closed = true
    val last = account
    account = null
    if (last != null) last.close()
  }

  private def register(): tracker.Account =
    if (!isBeforeDatabase) tracker.register(this, limit, setting)
    else {
      val hot = math.min(config.rocksDbMemory.heapBytes, limit)
      val heapSetting = s"${ConfigKey.RocksDbHeapBytes.key}=${config.rocksDbMemory.heapBytes}"
      tracker.register(this, hot, heapSetting, changes = Some(mostChanges(limit, setting)))
    }

  /** Where what cannot leave is a good part of the limit, a snapshot makes it so that it can. */
  private def needsFlush(table: StateTable): Boolean = {
    val kept = residences(table).iterator.map(b => b.bytes - b.evictable).sum
    kept > Tracker.limit / Tracker.stores / FlushShare
  }

  private def remember(version: Long): Unit = if (config.preventEvictionMs > 0)
    inUse(_.addLast(version -> ticker.nanos))

  /**
   * The oldest version within the time that keeps buckets in memory; above all versions if there is no such time, or no
   * batch came within it.
   */
  private def inUseFrom(table: StateTable): Long =
    if (config.preventEvictionMs == 0) Long.MaxValue
    else inUse(versions => Option(versions.peekFirst()).fold(table.newest + 1)(_._1))

  /** The versions within that time: as of now, since no batch may come any more that would take out the others. */
  private def inUse[A](use: ArrayDeque[(Long, Long)] => A): A = commits.synchronized {
    val now = ticker.nanos
    while (!commits.isEmpty && now - commits.peekFirst()._2 > config.preventEvictionMs * 1000000L)
      commits.removeFirst()
    use(commits)
  }
}

private[bucketstate] object StoreMemory {

  /** The memory of all queries of this process. */
  val Tracker: MemoryTracker = new MemoryTracker(() => Ticker.System.nanos)

  /** The heap of those queries whose state is in databases. */
  val HotTracker: MemoryTracker = new MemoryTracker(() => Ticker.System.nanos)

  /** Changes of all stores of this process that their databases have not taken over yet. */
  val Unwritten: UnwrittenBytes = new UnwrittenBytes

  /** Heap that the state of all stores takes, as they last told. */
  def heapBytes: Long = Tracker.total + HotTracker.total

  /** What it may take; 0 where there are no stores. */
  def heapLimit: Long =
    Seq(Tracker, HotTracker).filter(_.stores > 0).map(_.limit).sum

  /** What the databases of all stores of this process may take, as this one sees it. */
  def nativeLimits(config: StoreConfig, host: StoreHost): ExecutorNative.Limits =
    ExecutorNative.Limits(
      limitOf(config, host)._1 / 100 * config.rocksDbMemory.share,
      config.rocksDbMemory.maxBytesPerSecond
    )

  /** Bytes of changes of all stores of this process that may wait to be written to databases, as this one sees it. */
  def mostUnwritten(config: StoreConfig, host: StoreHost): Long = {
    val (limit, setting) = limitOf(config, host)
    mostChanges(limit, setting).bytes / UnwrittenShare
  }

  /** What changes may take before they are in a database. */
  private def mostChanges(limit: Long, setting: String): MemoryTracker.Limit =
    HeapLimit.ofChanges(limit, setting, Runtime.getRuntime.maxMemory)

  /** What all stores of this process may take to read runs, as this one sees it. */
  def readLimits(config: StoreConfig, host: StoreHost): ReadLimits =
    ReadLimits(limitOf(config, host)._1 / 100 * config.cacheShare, config.maxOpenFiles)

  /** Bytes that they may have in all, and the setting that says so, for messages. */
  private def limitOf(config: StoreConfig, host: StoreHost): (Long, String) =
    HeapLimit.of(config.maxMemory, Runtime.getRuntime.maxMemory, host.spareableHeap)

  /** The share of the limit on what lies before databases, in percent, above which some leaves beside the next writes. */
  private final val QuietShare = 75

  /** The part of what may lie before databases that one batch may keep of what it found in them. */
  private final val FoundShare = 4

  /** The part of a store's share of the limit that a snapshot must promise to make free. */
  private final val FlushShare = 4

  /** The part of what changes may take that those may which wait. */
  private final val UnwrittenShare = 4
}
