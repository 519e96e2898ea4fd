package io.bucketstate.bench

import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProvider}

/** What is done to a store, the same for every benchmark. */
final class Driver(label: String, workload: Workload, options: BenchOptions) {

  /** Puts all keys, in a dozen versions or more; returns the last version. */
  def preload(provider: StateStoreProvider): Long = {
    val perVersion = math.min(200000, math.max(1, workload.keys / 12))
    var version = 0L
    var first = 0
    while (first < workload.keys) {
      val store = provider.getStore(version)
      val end = math.min(workload.keys, first + perVersion)
      while (first < end) {
        val n = math.min(workload.fillRange(first), end - first)
        for (i <- 0 until n) store.put(workload.keyAt(i), workload.valueAt(i))
        first += n
      }
      version = store.commit()
      Host.progress(s"$label: $first keys loaded")
    }
    version
  }

  /**
   * A batch that the workload was filled with: a counter per key, as an aggregation would keep it. What
   * is read decides what is written; returns what the counters read add up to.
   */
  def update(store: StateStore): Long = {
    var sum = 0L
    var i = 0
    while (i < options.updates) {
      val key = workload.keyAt(i)
      val old = store.get(key)
      if (old == null) throw new IllegalStateException(s"$label lost key ${key.getLong(0)}")
      val count = old.getLong(0)
      sum += count
      val value = workload.valueAt(i)
      value.setLong(0, count + 1)
      store.put(key, value)
      i += 1
    }
    sum
  }

  def checkSum(found: Long, expected: Long): Unit =
    if (found != expected) {
      throw new IllegalStateException(
        s"$label read counters that add up to $found, not to $expected: it lost or invented updates"
      )
    }
}
