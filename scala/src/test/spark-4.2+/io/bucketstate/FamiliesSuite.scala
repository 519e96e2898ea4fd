package io.bucketstate

import scala.collection.immutable.{SortedMap, TreeMap}
import scala.collection.mutable
import scala.util.Random

import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.config.MetricKey
import io.bucketstate.testkit.FamilyRows._
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{
  EngineUnderTest,
  FamilyRows,
  ProviderHarness,
  Seeds,
  ShortMemory,
  TidySuite
}

/**
 * Column families with every key encoder of Spark's, through the provider's doors, over random histories
 * of batches, aborts, roll-backs, snapshots and restarts. Held against sorted maps.
 */
class FamiliesSuite extends TidySuite with FamilyRows {

  private type Pairs = Map[Key, Seq[Int]]
  private type Model = SortedMap[String, Pairs]

  private def read(it: StateStoreIterator[UnsafeRowPair]): Seq[(Key, Int)] =
    try it.map(pair => keyOf(pair.key) -> valueOf(pair.value)).toVector
    finally it.close()

  private def flat(pairs: Iterable[(Key, Seq[Int])], lists: Boolean): Seq[(Key, Int)] =
    pairs.toSeq.flatMap { case (key, all) => (if (lists) all else all.take(1)).map(key -> _) }

  /** Same pairs, each key's values in their order, and keys in the order of their times. */
  private def sameInOrder(found: Seq[(Key, Int)], expected: Seq[(Key, Int)], inTime: Boolean) = {
    assert(found.groupMap(_._1)(_._2) == expected.groupMap(_._1)(_._2))
    if (inTime) assert(found.map(_._1) == found.map(_._1).sorted(byTime))
  }

  private def check(store: ReadStateStore, model: Model, random: Random): Unit = {
    assert(store.allColumnFamilyNames == model.keySet + StateStore.DEFAULT_COL_FAMILY_NAME)
    families.filter(f => model.contains(f.name)).foreach { family =>
      val (name, pairs) = (family.name, model(family.name))
      val (key, other) = (keys(random.nextInt(keys.size)), keys(random.nextInt(keys.size)))
      assert(store.keyExists(keyRow(key), name) == pairs.contains(key))
      val first = Option(store.get(keyRow(key), name)).map(valueOf)
      assert(first == pairs.get(key).flatMap(_.headOption))
      val both = store.multiGet(Array(keyRow(key), keyRow(other)), name)
      assert(
        both.map(v => Option(v).map(valueOf)).toSeq ==
          Seq(key, other).map(pairs.get(_).flatMap(_.headOption))
      )
      sameInOrder(read(store.iterator(name)), flat(pairs, lists = false), inTime = false)
      val prefixed = family.kind match {
        case Prefix | Last => Some(row(toName, key._1) -> pairs.filter(_._1._1 == key._1))
        case Range         => Some(row(toTime, key._2) -> pairs.filter(_._1._2 == key._2))
        case _             => None
      }
      prefixed.foreach { case (prefix, expected) =>
        val inTime = family.kind == Last
        sameInOrder(read(store.prefixScan(prefix, name)), flat(expected, false), inTime)
        if (family.lists) {
          val all = read(store.prefixScanWithMultiValues(prefix, name))
          sameInOrder(all, flat(expected, lists = true), inTime)
        }
      }
      val from = Option.when(random.nextInt(4) > 0)(times(random.nextInt(times.size)))
      val until = Option.when(random.nextInt(4) > 0)(times(random.nextInt(times.size)))
      def within(time: Long) = from.forall(_ <= time) && until.forall(time < _)
      // Bounds are whole keys: all but the time is the least there can be, or the same on both sides.
      val ranged = family.kind match {
        case Range | First => Some("" -> pairs.filter(p => within(p._1._2)))
        case Last if from.isDefined && until.isDefined =>
          Some(key._1 -> pairs.filter(p => p._1._1 == key._1 && within(p._1._2)))
        case _ => None
      }
      ranged.foreach { case (bound, expected) =>
        val bounds = Seq(from, until).map(_.map(time => keyRow((bound, time))))
        val found = read(store.rangeScan(bounds.head, bounds.last, name))
        sameInOrder(found, flat(expected, lists = false), inTime = true)
        if (family.lists) {
          val all = read(store.rangeScanWithMultiValues(bounds.head, bounds.last, name))
          sameInOrder(all, flat(expected, lists = true), inTime = true)
        }
      }
      if (family.lists) {
        assert(
          store.valuesIterator(keyRow(key), name).map(valueOf).toSeq ==
            pairs.getOrElse(key, Nil)
        )
        val all = read(store.iteratorWithMultiValues(name))
        sameInOrder(all, flat(pairs, lists = true), inTime = false)
      }
    }
  }

  /** Some changes of one family, made in the store and in the model. */
  private def change(store: StateStore, family: Family, pairs: Pairs, random: Random): Pairs = {
    val (name, key) = (family.name, keys(random.nextInt(keys.size)))
    val values = Seq.fill(1 + random.nextInt(3))(random.nextInt(1000))
    val rows = values.map(valueRow).toArray
    random.nextInt(10) match {
      case 0 | 1 =>
        store.remove(keyRow(key), name)
        pairs - key
      case 2 if family.kind == Range =>
        val (from, until) = (times(random.nextInt(times.size)), times(random.nextInt(times.size)))
        store.deleteRange(keyRow(("", from)), keyRow(("", until)), name)
        pairs.filterNot { case ((_, time), _) => from <= time && time < until }
      case 3 | 4 | 5 if family.lists =>
        store.merge(keyRow(key), rows.head, name)
        pairs + (key -> (pairs.getOrElse(key, Nil) :+ values.head))
      case 6 if family.lists =>
        store.mergeList(keyRow(key), rows, name)
        pairs + (key -> (pairs.getOrElse(key, Nil) ++ values))
      case 7 if family.lists =>
        store.putList(keyRow(key), rows, name)
        pairs + (key -> values)
      case _ =>
        store.put(keyRow(key), rows.head, name)
        pairs + (key -> values.take(1))
    }
  }

  private def tell(reader: ReadStateStore, family: Family): Unit = ours(reader).registerColFamily(
    family.name,
    keySchema,
    valueSchema,
    family.kind.spec,
    useMultipleValuesPerKey = family.lists,
    isInternal = family.kind == First
  )

  /** A reader that goes on while later versions are made, with what it has to give. */
  private final class OpenReader(val store: ReadStateStore, model: Model) {
    def check(random: Random): Unit = FamiliesSuite.this.check(store, model, random)
  }

  /** @param met figures that the settings must lead to: each is told by some commit */
  private def histories(
      seed: Long,
      ids: Boolean,
      met: Seq[MetricKey],
      settings: (String, String)*
  ): Unit =
    ProviderHarness.withFolder { folder =>
      val random = new Random(seed)
      val harness = new ProviderHarness(folder, families = true)
      val all = settings ++ Option.when(ids)(Format2)
      var provider = harness.provider(all: _*)
      var models = TreeMap[Long, Model](0L -> TreeMap.empty[String, Pairs])
      var checkpointIds = Map.empty[Long, Option[String]].withDefaultValue(None)
      val figures = mutable.Map.empty[String, Long].withDefaultValue(0L)
      val readers = mutable.ArrayBuffer.empty[OpenReader]
      var late = 0 // checks of versions that are not retained any more
      def release(ended: OpenReader): Unit = {
        readers -= ended
        ended.store.release()
      }
      for (_ <- 1 to 40) {
        // The newest version, or the one before, whose retry replaces it.
        val base =
          math.max(models.firstKey, models.lastKey - (if (random.nextInt(6) == 0) 1 else 0))
        if (random.nextInt(5) == 0) {
          readers.toSeq.foreach(release)
          provider.close()
          provider = harness.provider(all: _*)
        }
        val store = EngineUnderTest.orRetry(provider.getStore(base, checkpointIds(base)))
        var model = models(base)
        families.filter(f => model.contains(f.name)).foreach(_.make(store))
        for (_ <- 1 to random.nextInt(30)) {
          val family = families(random.nextInt(families.size))
          model.get(family.name) match {
            case None =>
              family.make(store)
              model += family.name -> Map.empty[Key, Seq[Int]]
            case Some(_) if random.nextInt(25) == 0 =>
              assert(store.removeColFamilyIfExists(family.name) || family.kind == First)
              model -= family.name
            case Some(pairs) => model += family.name -> change(store, family, pairs, random)
          }
        }
        check(store, model, random)
        if (random.nextInt(5) == 0) store.abort()
        else {
          assert(store.commit() == base + 1)
          val external = model.view.filterKeys(!_.startsWith(First.name)).values.map(_.size).sum
          assert(store.metrics.numKeys == external)
          store.metrics.customMetrics.foreach { case (metric, n) => figures(metric.name) += n }
          checkpointIds += base + 1 -> store.getStateStoreCheckpointInfo().stateStoreCkptId
          models = models.rangeTo(base) + (base + 1 -> model)
        }
        models.takeRight(2).foreach { case (version, old) =>
          val reader = provider.getReadStore(version, checkpointIds(version))
          // A provider that was started since may not have been told of all of them.
          families.filter(f => old.contains(f.name)).foreach(tell(reader, _))
          check(reader, old, random)
          if (readers.size < 3) readers += new OpenReader(reader, old) else reader.release()
        }
        if (random.nextInt(3) == 0) provider.doMaintenance()
        val goesOn = readers(random.nextInt(readers.size))
        goesOn.check(random)
        if (goesOn.store.version < models.lastKey - 2) late += 1
        if (random.nextInt(4) == 0) release(goesOn)
      }
      readers.toSeq.foreach(release)
      provider.close()
      assert(late > 0)
      met.foreach(metric => assert(figures(metric.name) > 0, metric.name))
    }

  /** With the second engine each takes longer. */
  private val seeds = if (EngineUnderTest.isRocksDb) Seeds.of(4, 8) else 8

  private val bucketed = "spark.sql.streaming.stateStore.bucketed."

  for (seed <- 1 to seeds) test(s"what was committed is what is read, seed $seed") {
    histories(seed.toLong, ids = seed % 2 == 0, met = Nil)
  }

  for {
    seed <- 1 to seeds
    short <- Seq(false, true)
  } test(s"the same with snapshots and few buckets, short of memory: $short, seed $seed") {
    ShortMemory.when(short)(
      histories(
        100L + seed,
        ids = seed % 2 == 0,
        met = MetricKey.Runs +: (if (short) Seq(MetricKey.Evictions, MetricKey.ColdReads) else Nil),
        bucketed + "snapshot.mode" -> "sync",
        bucketed + "snapshot.maxVersions" -> "3",
        bucketed + "compaction.maxRuns" -> "2",
        bucketed + "compaction.maxBytes" -> (if (seed % 2 == 0) "1k" else "1g"),
        bucketed + "numBuckets" -> "4",
        bucketed + "restore.mode" -> (if (seed % 3 == 0) "eager" else "lazy"),
        "spark.sql.streaming.minBatchesToRetain" -> "3"
      )
    )
  }

  test("a family that was removed and made again is empty, however it is loaded") {
    ProviderHarness.withFolder { folder =>
      val harness = new ProviderHarness(folder, families = true)
      val settings = Seq(
        bucketed + "snapshot.mode" -> "sync",
        bucketed + "snapshot.maxVersions" -> "1",
        bucketed + "compaction.maxRuns" -> "20"
      )
      val family = Family(Last, lists = true)
      val key = keyRow(("a", 1L))
      def batch(version: Long)(work: StateStore => Unit): Unit = {
        val provider = harness.provider(settings: _*)
        val store = provider.getStore(version)
        work(store)
        store.commit()
        provider.close()
      }
      batch(0) { store =>
        family.make(store)
        (1 to 100).foreach(n => store.merge(keyRow(("a", n.toLong)), valueRow(n), family.name))
      }
      batch(1)(store => assert(store.removeColFamilyIfExists(family.name)))
      batch(2) { store =>
        assert(store.allColumnFamilyNames == Set(StateStore.DEFAULT_COL_FAMILY_NAME))
        assert(!store.removeColFamilyIfExists(family.name))
        family.make(store)
        assert(store.iteratorWithMultiValues(family.name).isEmpty)
        store.merge(key, valueRow(7), family.name)
      }
      batch(3) { store =>
        family.make(store)
        assert(
          store.iteratorWithMultiValues(family.name).map(p => valueOf(p.value)).toSeq == Seq(7)
        )
        assert(store.valuesIterator(key, family.name).map(valueOf).toSeq == Seq(7))
      }
    }
  }

  test("a provider of another run sees the families of a committed version only") {
    ProviderHarness.withFolder { folder =>
      val harness = new ProviderHarness(folder, families = true)
      val first = harness.provider()
      val store = first.getStore(0)
      Family(Plain, lists = false).make(store)
      store.commit()
      val open = first.getStore(1)
      Family(Last, lists = true).make(open)
      val names = Set(StateStore.DEFAULT_COL_FAMILY_NAME, "plain-values")
      assert(first.getReadStore(1).allColumnFamilyNames == names)
      val other = harness.provider()
      assert(other.getReadStore(1).allColumnFamilyNames == names)
      open.abort()
      assert(first.getReadStore(1).allColumnFamilyNames == names)
      first.close()
      other.close()
    }
  }
}
