package io.bucketstate.bench

import org.apache.spark.sql.execution.streaming.state.{
  StateStore,
  StateStoreProvider,
  UnsafeRowPair
}

/** What the benchmarks of single operations do to stores. */
object StoreWork {

  /** Seconds that `work` takes in a store of its own, which is then aborted: the state stays as it is. */
  def seconds(provider: StateStoreProvider, version: Long)(work: StateStore => Unit): Double = {
    val store = provider.getStore(version)
    val start = Host.nanos()
    work(store)
    val taken = (Host.nanos() - start) / 1e9
    store.abort()
    taken
  }

  /** Scans everything and removes what is `old`, as a watermark does it. */
  def evict(store: StateStore, expected: Long)(old: UnsafeRowPair => Boolean): Unit = {
    var removed = 0L
    val all = store.iterator()
    while (all.hasNext) {
      val pair = all.next()
      if (old(pair)) {
        store.remove(pair.key)
        removed += 1
      }
    }
    require(removed == expected, s"$removed keys were removed instead of $expected")
  }
}
