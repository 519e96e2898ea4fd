package io.bucketstate.rocksdb.follower

import io.bucketstate.config.MetricKey
import io.bucketstate.rocksdb.state.{ExecutorNative, NativeFigures}

/** What RocksDB said of a store's database when it was asked last. Whoever wants to know asks nothing of it. Thread-safe. */
private[bucketstate] final class DatabaseFigures {
  @volatile private[this] var sampled = NativeFigures.None
  private[this] var reported = NativeFigures.None

  def sample(current: NativeFigures): Unit = synchronized { sampled = current }

  /** Another database begins at nothing. */
  def reset(): Unit = synchronized {
    sampled = NativeFigures.None
    reported = NativeFigures.None
  }

  /** About the native memory that the database takes, its part of what all share included. */
  def nativeBytes: Long =
    sampled.readerBytes + ExecutorNative.usedBytes / math.max(1, ExecutorNative.stores)

  /**
   * Figures since the last call, and of now.
   *
   * @param lag versions that the database is behind its table
   */
  def drain(lag: Long): Map[MetricKey, Long] = synchronized {
    val current = sampled
    val since = current.since(reported)
    reported = current
    Map(
      MetricKey.DbLag -> lag,
      MetricKey.DbCacheHits -> since.cacheHits,
      MetricKey.DbCacheMisses -> since.cacheMisses,
      MetricKey.DbFlushBytes -> since.flushBytes,
      MetricKey.DbCompactionBytes -> since.compactBytes,
      MetricKey.DbCompactionTime -> since.compactMillis,
      MetricKey.DbStallTime -> since.stallMillis,
      MetricKey.DbFileBytes -> current.fileBytes,
      MetricKey.DbFiles -> current.files,
      MetricKey.DbUnflushedBytes -> current.unflushedBytes,
      MetricKey.DbMemory -> nativeBytes
    )
  }
}
