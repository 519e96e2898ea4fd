package io.bucketstate

import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{ProviderHarness, TidySuite}

/** Scans that operators close before their end, as `MapState.exists` does. */
class ClosedScansSuite extends TidySuite {
  private type Scan = StateStore => StateStoreIterator[UnsafeRowPair]

  private val Keys = 3000

  private val scans: Seq[(String, Scan)] =
    Seq("iterator" -> (_.iterator()), "prefixScan" -> (_.prefixScan(prefix(1))))

  private def withStore[A](body: StateStore => A): A = withFolder { folder =>
    val provider = new ProviderHarness(folder, keySpec = prefixKeys).provider()
    try {
      val store = provider.getStore(0)
      try body(store)
      finally store.abort()
    } finally provider.close()
  }

  private def write(store: StateStore, name: String): Unit =
    (0 until Keys).foreach(n => store.put(key(1, s"key $n"), value(1, name)))

  for ((name, scan) <- scans) {
    test(s"$name gives nothing after it was closed") {
      withStore { store =>
        write(store, "first")
        val half = scan(store)
        assert(half.next() != null)
        half.close()
        half.close()
        assert(half.isEmpty)
        val whole = scan(store)
        assert(whole.size == Keys)
        whole.close()
      }
    }

    test(s"$name that was closed leaves writes nothing to keep") {
      def bytes(isClosed: Boolean): Long = withStore { store =>
        write(store, "first")
        val half = scan(store)
        half.next()
        if (isClosed) half.close()
        write(store, "other")
        val held = store.metrics.memoryUsedBytes
        assert(half.isEmpty == isClosed) // which keeps it from being collected before
        held
      }
      val closed = bytes(isClosed = true)
      val open = bytes(isClosed = false)
      // Each key has an entry more, of tens of bytes.
      assert(open - closed > Keys * 16L, s"$open bytes open, $closed closed")
    }
  }
}
