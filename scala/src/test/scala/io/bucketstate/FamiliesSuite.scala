package io.bucketstate

import scala.collection.immutable.{SortedMap, TreeMap}
import scala.util.Random

import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.testkit.ProviderHarness
import io.bucketstate.testkit.ProviderHarness._

/**
 * Column families with every key encoder of Spark's, through the provider's doors, over random histories
 * of batches, aborts, roll-backs, snapshots and restarts. Held against sorted maps.
 */
class FamiliesSuite extends AnyFunSuite {
  import FamiliesSuite._

  private val toKey = UnsafeProjection.create(keySchema)
  private val toName = UnsafeProjection.create(StructType(keySchema.take(1)))
  private val toTime = UnsafeProjection.create(StructType(keySchema.drop(1)))
  private val toValue = UnsafeProjection.create(valueSchema)

  private type Key = (String, Long)

  private def row(projection: UnsafeProjection, fields: Any*): UnsafeRow = {
    val values = fields.map {
      case text: String => UTF8String.fromString(text)
      case other        => other
    }
    projection(new GenericInternalRow(values.toArray[Any])).copy()
  }

  private def keyRow(key: Key): UnsafeRow = row(toKey, key._1, key._2)
  private def valueRow(n: Int): UnsafeRow = row(toValue, n.toLong, s"value $n")
  private def keyOf(row: UnsafeRow): Key = (row.getUTF8String(0).toString, row.getLong(1))
  private def valueOf(row: UnsafeRow): Int = {
    val n = row.getLong(0).toInt
    assert(row.getUTF8String(1).toString == s"value $n")
    n
  }

  private val names = Seq("", "a", "b", "a somewhat longer name")
  private val times = Seq(Long.MinValue, -5L, -1L, 0L, 1L, 256L, Long.MaxValue)
  private val keys = for {
    name <- names
    time <- times
  } yield (name, time)

  /** By time alone, as far as Spark's encoder promises an order. */
  private val byTime: Ordering[Key] = Ordering.by(_._2)

  private val kinds = Seq(Plain, Prefix, Range, First, Last)

  private val families = for {
    kind <- kinds
    lists <- Seq(false, true)
  } yield Family(kind, lists)

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

  private def histories(seed: Long, ids: Boolean, settings: (String, String)*): Unit =
    ProviderHarness.withFolder { folder =>
      val random = new Random(seed)
      val harness = new ProviderHarness(folder, families = true)
      val all = settings ++ Option.when(ids)(Format2)
      var provider = harness.provider(all: _*)
      var models = TreeMap[Long, Model](0L -> TreeMap.empty[String, Pairs])
      var checkpointIds = Map.empty[Long, Option[String]].withDefaultValue(None)
      for (_ <- 1 to 40) {
        // The newest version, or the one before, whose retry replaces it.
        val base =
          math.max(models.firstKey, models.lastKey - (if (random.nextInt(6) == 0) 1 else 0))
        if (random.nextInt(5) == 0) {
          provider.close()
          provider = harness.provider(all: _*)
        }
        val store = provider.getStore(base, checkpointIds(base))
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
          checkpointIds += base + 1 -> store.getStateStoreCheckpointInfo().stateStoreCkptId
          models = models.rangeTo(base) + (base + 1 -> model)
        }
        models.takeRight(2).foreach { case (version, old) =>
          val reader = provider.getReadStore(version, checkpointIds(version))
          check(reader, old, random)
          reader.release()
        }
        if (random.nextInt(3) == 0) provider.doMaintenance()
      }
      provider.close()
    }

  private val bucketed = "spark.sql.streaming.stateStore.bucketed."

  for (seed <- 1 to 8) test(s"what was committed is what is read, seed $seed") {
    histories(seed.toLong, ids = seed % 2 == 0)
  }

  for (seed <- 1 to 8) test(s"the same with snapshots and few buckets, seed $seed") {
    histories(
      100L + seed,
      ids = seed % 2 == 0,
      bucketed + "snapshot.mode" -> "sync",
      bucketed + "snapshot.maxVersions" -> "3",
      bucketed + "compaction.maxRuns" -> "2",
      bucketed + "numBuckets" -> "4",
      bucketed + "restore.mode" -> (if (seed % 3 == 0) "eager" else "lazy"),
      "spark.sql.streaming.minBatchesToRetain" -> "3"
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

  private def withFamilies(body: (StateStoreProvider, StateStore) => Unit): Unit =
    ProviderHarness.withFolder { folder =>
      val provider = new ProviderHarness(folder, families = true).provider()
      val store = provider.getStore(0)
      families.foreach(_.make(store))
      try body(provider, store)
      finally {
        store.abort()
        provider.close()
      }
    }

  private def condition(call: => Any): String =
    intercept[Exception](call) match {
      case e: org.apache.spark.SparkThrowable => e.getCondition
      case other                              => other.getClass.getSimpleName
    }

  test("names are checked as Spark's RocksDB provider checks them") {
    withFamilies { (_, store) =>
      def make(name: String, isInternal: Boolean = false): Unit = store.createColFamilyIfAbsent(
        name,
        keySchema,
        valueSchema,
        NoPrefixKeyStateEncoderSpec(keySchema),
        isInternal = isInternal
      )
      val invalid = "STATE_STORE_CANNOT_USE_COLUMN_FAMILY_WITH_INVALID_NAME"
      Seq("", " ", " a", "a ", "default").foreach(name => assert(condition(make(name)) == invalid))
      val reserved = "STATE_STORE_CANNOT_CREATE_COLUMN_FAMILY_WITH_RESERVED_CHARS"
      assert(condition(make("$own")) == reserved)
      make("$own", isInternal = true)
      make("default", isInternal = true)
      assert(store.allColumnFamilyNames("$own"))
      assert(condition(store.removeColFamilyIfExists("$own")) == reserved)
      Seq("", " a", "default").foreach { name =>
        assert(condition(store.removeColFamilyIfExists(name)) == invalid)
      }
      assert(!store.removeColFamilyIfExists("never made"))
      Seq("", "a ").foreach(name =>
        assert(condition(store.get(keyRow(keys.head), name)) == invalid)
      )
      val missing = "STATE_STORE_UNSUPPORTED_OPERATION_ON_MISSING_COLUMN_FAMILY"
      val calls: Seq[String => Any] = Seq(
        store.get(keyRow(keys.head), _),
        store.put(keyRow(keys.head), valueRow(1), _),
        store.remove(keyRow(keys.head), _),
        store.iterator,
        store.merge(keyRow(keys.head), valueRow(1), _),
        store.rangeScan(None, None, _)
      )
      calls.foreach(call => assert(condition(call("never made")) == missing))
    }
  }

  test("without column families, every other name is refused") {
    withHarness { harness =>
      val provider = harness.provider()
      val store = provider.getStore(0)
      val refused = "STATE_STORE_UNSUPPORTED_OPERATION"
      assert(condition(store.get(key(1, "a"), "other")) == refused)
      assert(condition(store.removeColFamilyIfExists("other")) == refused)
      assert(condition(Family(Plain, lists = false).make(store)) == refused)
      store.abort()
      provider.close()
      assertThrows[IllegalArgumentException] {
        new BucketedStateStoreProvider().init(
          StateStoreId(harness.folder.toString, 0, 1),
          KeySchema,
          ValueSchema,
          plainKeys,
          useColumnFamilies = false,
          StateStoreConf.empty,
          new org.apache.hadoop.conf.Configuration(false),
          useMultipleValuesPerKey = true,
          None
        )
      }
    }
  }

  test("what an encoder cannot do is refused with the exceptions of Spark's RocksDB provider") {
    withFamilies { (_, store) =>
      val key = keyRow(keys.head)
      val name = row(toName, "a")
      families.foreach { family =>
        val n = family.name
        val scansPrefixes = Set[Kind](Prefix, Range, Last)(family.kind)
        val scansRanges = Set[Kind](Range, First, Last)(family.kind)
        if (!scansPrefixes) {
          assertThrows[IllegalArgumentException](store.prefixScan(name, n))
          assertThrows[IllegalStateException](store.prefixScanWithMultiValues(name, n))
        }
        if (!scansRanges) {
          assertThrows[IllegalArgumentException](store.rangeScan(None, None, n))
          assertThrows[IllegalArgumentException](store.rangeScanWithMultiValues(None, None, n))
        }
        if (family.kind != Range) {
          assertThrows[IllegalStateException](store.deleteRange(key, key, n))
        }
        if (!family.lists) {
          assertThrows[IllegalStateException](store.merge(key, valueRow(1), n))
          assertThrows[IllegalStateException](store.mergeList(key, Array(valueRow(1)), n))
          assertThrows[IllegalStateException](store.putList(key, Array(valueRow(1)), n))
          assertThrows[IllegalStateException](store.valuesIterator(key, n))
          assertThrows[IllegalStateException](store.iteratorWithMultiValues(n))
        }
      }
      val lists = Family(Range, lists = true).name
      assertThrows[IllegalStateException](store.merge(null, valueRow(1), lists))
      assertThrows[IllegalArgumentException](store.merge(key, null, lists))
      assertThrows[IllegalArgumentException](store.putList(key, null, lists))
      assertThrows[IllegalArgumentException](store.mergeList(key, Array(valueRow(1), null), lists))
      assertThrows[IllegalStateException](store.multiGet(Array(key, null), lists))
      assertThrows[IllegalStateException](store.keyExists(null, lists))
      assertThrows[IllegalStateException](store.deleteRange(null, key, lists))
      assertThrows[IllegalStateException](store.deleteRange(key, null, lists))
      assert(store.iterator(lists).isEmpty, "nothing of that was written")
    }
  }

  test("a family that comes back with another encoder is an error that names both") {
    withFamilies { (_, store) =>
      val error = intercept[Exception] {
        store.createColFamilyIfAbsent(
          "last-values",
          keySchema,
          valueSchema,
          NoPrefixKeyStateEncoderSpec(keySchema)
        )
      }
      assert(error.getMessage.contains("spark-timestamp-postfix"))
      assert(error.getMessage.contains("compact-row/1"))
    }
  }

  test("scans of one family side by side leave each other's rows alone") {
    withFamilies { (_, store) =>
      families.foreach { family =>
        names.foreach(name =>
          times.foreach(t => store.put(keyRow((name, t)), valueRow(t.toByte.toInt), family.name))
        )
        val (outer, inner) = (store.iterator(family.name), store.iterator(family.name))
        outer.zip(inner.drop(3)).foreach { case (one, other) =>
          assert(valueOf(one.value) == keyOf(one.key)._2.toByte.toInt)
          assert(valueOf(other.value) == keyOf(other.key)._2.toByte.toInt)
          assert(keyOf(one.key) != keyOf(other.key))
          assert(store.get(one.key, family.name) == one.value)
        }
      }
    }
  }

  test("several values of keys stay as they are while the scan goes on, and so does what get gave") {
    withFamilies { (_, store) =>
      families.filter(f => f.kind == Last && f.lists).foreach { family =>
        times.foreach(t => store.put(keyRow(("a", t)), valueRow(t.toByte.toInt), family.name))
        val scan = store.prefixScanWithMultiValues(row(toName, "a"), family.name)
        assert(scan.map(_.value).toSeq.map(valueOf) == times.map(_.toByte.toInt))
        val got = times.map(t => store.get(keyRow(("a", t)), family.name))
        assert(got.map(valueOf) == times.map(_.toByte.toInt))
      }
    }
  }

  test("a scan of nothing stays empty when something is put in") {
    withFamilies { (_, store) =>
      families.foreach { family =>
        val name = family.name
        val scans = store.iterator(name) +: (family.kind match {
          case Prefix | Last => Seq(store.prefixScan(row(toName, "a"), name))
          case Range | First => Seq(store.rangeScan(None, None, name))
          case _             => Nil
        })
        times.foreach(t => store.put(keyRow(("a", t)), valueRow(1), name))
        assert(scans.map(_.size) == scans.map(_ => 0), name)
      }
    }
  }

  test("a scan goes on while what it scans is removed and added to") {
    withFamilies { (_, store) =>
      families.filterNot(_.kind == Plain).foreach { family =>
        times.foreach(t => store.put(keyRow(("a", t)), valueRow(1), family.name))
        val seen = store
          .iterator(family.name)
          .map { pair =>
            val key = pair.key.copy()
            store.remove(key, family.name)
            store.put(keyRow(("b", keyOf(key)._2)), valueRow(2), family.name)
            keyOf(key)
          }
          .filter(_._1 == "a")
          .toSet
        assert(seen == times.map(("a", _)).toSet)
        assert(
          store.iterator(family.name).map(p => keyOf(p.key)).toSet == times.map(("b", _)).toSet
        )
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

private object FamiliesSuite {
  val keySchema: StructType =
    new StructType().add("name", StringType).add("time", LongType, nullable = false)
  val valueSchema: StructType = new StructType().add("n", LongType).add("text", StringType)

  /** How a family's keys are encoded, and what can be asked of it. */
  sealed abstract class Kind(val name: String, val spec: KeyStateEncoderSpec)
  case object Plain extends Kind("plain", NoPrefixKeyStateEncoderSpec(keySchema))
  case object Prefix extends Kind("prefix", PrefixKeyScanStateEncoderSpec(keySchema, 1))
  case object Range extends Kind("range", RangeKeyScanStateEncoderSpec(keySchema, Seq(1)))
  case object First extends Kind("first", TimestampAsPrefixKeyStateEncoderSpec(keySchema))
  case object Last extends Kind("last", TimestampAsPostfixKeyStateEncoderSpec(keySchema))
  final case class Family(kind: Kind, lists: Boolean) {
    val name: String = s"${kind.name}-${if (lists) "lists" else "values"}"
    def make(store: StateStore): Unit = store.createColFamilyIfAbsent(
      name,
      keySchema,
      valueSchema,
      kind.spec,
      useMultipleValuesPerKey = lists,
      isInternal = kind == First
    )
  }
}
