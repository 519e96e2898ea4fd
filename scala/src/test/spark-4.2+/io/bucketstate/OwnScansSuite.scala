package io.bucketstate

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.testkit.FamilyRows._
import io.bucketstate.testkit.{FamilyRows, ProviderHarness, ShortMemory, TidySuite}

/**
 * A scan by who writes gives what was there when it began, as RocksDB's iterators do, whatever is written while it goes
 * on, whatever is in memory, and in however many buckets.
 */
class OwnScansSuite extends TidySuite with FamilyRows {

  private type Content = Map[Key, Seq[Int]]

  private val many: Seq[Key] = (0 until 120).map(n => ("a", n * 10L))

  /** What a scan gives of the rows of a family. */
  private final class Scan(
      val name: String,
      val begin: (StateStore, Family) => Iterator[UnsafeRowPair],
      val serves: Kind => Boolean
  )

  private val scans: Seq[Scan] = Seq(
    new Scan(
      "all",
      (store, f) => if (f.lists) store.iteratorWithMultiValues(f.name) else store.iterator(f.name),
      _ => true
    ),
    new Scan(
      "of a prefix",
      (store, f) => {
        val a = row(toName, "a")
        if (f.lists) store.prefixScanWithMultiValues(a, f.name) else store.prefixScan(a, f.name)
      },
      kind => kind == Prefix || kind == Last
    ),
    new Scan(
      "of a range",
      (store, f) =>
        if (f.lists) store.rangeScanWithMultiValues(None, None, f.name)
        else store.rangeScan(None, None, f.name),
      kind => kind == Range || kind == First
    )
  )

  private def append(store: StateStore, family: Family, key: Key, n: Int): Unit =
    if (family.lists) store.merge(keyRow(key), valueRow(n), family.name)
    else store.put(keyRow(key), valueRow(n), family.name)

  private def put(store: StateStore, family: Family, key: Key, n: Int): Unit =
    if (family.lists) store.putList(keyRow(key), Array(valueRow(n)), family.name)
    else store.put(keyRow(key), valueRow(n), family.name)

  private def content(pairs: Iterator[UnsafeRowPair]): Content =
    pairs
      .map(pair => keyOf(pair.key) -> valueOf(pair.value))
      .toSeq
      .groupMap(_._1)(_._2)

  /** Three versions: what is written first, with snapshots, and in a store that has just begun. */
  private def fill(harness: ProviderHarness, settings: Seq[(String, String)]): Unit = {
    val provider = harness.provider(settings: _*)
    for (version <- 0 until 3) {
      val store = provider.getStore(version.toLong)
      families.foreach(_.make(store))
      for {
        family <- families
        (key, n) <- many.zipWithIndex if n % 3 == version
      } put(store, family, key, 1)
      store.commit()
    }
    provider.doMaintenance()
    provider.close()
  }

  for {
    isShort <- Seq(false, true)
    buckets <- Seq(1, 16)
  }
    test(s"a scan is of the moment it began, short of memory: $isShort, buckets: $buckets") {
      ProviderHarness.withFolder { folder =>
        val settings = Seq(
          "spark.sql.streaming.stateStore.bucketed.numBuckets" -> buckets.toString,
          "spark.sql.streaming.stateStore.bucketed.snapshot.mode" -> "sync",
          "spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions" -> "1"
        )
        val harness = new ProviderHarness(folder, families = true)
        fill(harness, settings)
        ShortMemory.when(isShort) {
          val provider = harness.provider(settings: _*)
          val store = provider.getStore(3)
          families.foreach(_.make(store))
          for {
            family <- families
            scan <- scans if scan.serves(family.kind)
          } check(store, family, scan)
          store.abort()
          provider.close()
        }
      }
    }

  private def check(store: StateStore, family: Family, scan: Scan): Unit = {
    val name = s"${family.name}, ${scan.name}"
    // What the version wrote before the scan is a part of it.
    put(store, family, many(3), 2)
    append(store, family, many(4), 2)
    store.remove(keyRow(many(5)), family.name)
    put(store, family, ("a", 5001L), 2)
    val before = content(scan.begin(store, family))
    assert(before.size >= many.size - 1, name)
    assert(before(many(3)) == Seq(2) && !before.contains(many(5)), name)

    val long = scan.begin(store, family)
    val first = long.take(7).map(pair => keyOf(pair.key) -> valueOf(pair.value)).toSeq
    for (round <- 1 to 3) {
      many.zipWithIndex.foreach { case (key, n) =>
        if (n % 4 == 0) put(store, family, key, 10 * round)
        else if (n % 4 == 1) append(store, family, key, 10 * round + 1)
        else if (n % 4 == 2) store.remove(keyRow(key), family.name)
      }
      // New keys before, between and behind those that are scanned.
      (-20 until 200).foreach(n => put(store, family, ("a", n * 10L + round), 3))
      // A scan that began later sees what was written before it, and one more is left half-way.
      assert(content(scan.begin(store, family)).size >= before.size, name)
      scan.begin(store, family).next()
    }
    val all = (first ++ long.map(pair => keyOf(pair.key) -> valueOf(pair.value)))
      .groupMap(_._1)(_._2)
    assert(all == before, name)
    clear(store, family)
  }

  /** So that the next scan of the family begins with what is known. */
  private def clear(store: StateStore, family: Family): Unit = {
    val keys = store.iterator(family.name).map(pair => pair.key.copy()).toSeq
    keys.foreach((key: UnsafeRow) => store.remove(key, family.name))
    many.foreach(put(store, family, _, 1))
  }
}
