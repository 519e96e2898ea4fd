package io.bucketstate.table

import scala.collection.mutable
import scala.util.Random

import io.bucketstate.checkpoint.changelog.ChangelogFamily
import io.bucketstate.record.{
  BucketAssigner,
  BucketKey,
  ColdState,
  FamilySpec,
  Record,
  RecordBuffer,
  RecordOp,
  RecordSink,
  TimeBuckets
}
import io.bucketstate.table.cold.BucketLoader
import io.bucketstate.testkit.TextRecords._
import io.bucketstate.testkit.{
  ChanceOfRoom,
  Changes,
  MapCold,
  NativeColds,
  Seeds,
  TextRecords,
  TidySuite,
  WatchedCold
}

/**
 * A table over a cold part against a map per version: whatever is written, undone, read, announced and evicted in
 * whatever order, no answer differs from the map's, and no cold part is asked once the table does
 * not name it any more. With keys that are counted, and with writes that look nothing up.
 */
class ColdHistorySuite extends TidySuite {

  private type Model = Map[String, String]

  private val ofTables = for {
    evicting <- Seq("now and then" -> 8, "seldom" -> 1, "after each step" -> 0)
    buckets <- Seq(1, 4)
    keys <- Seq(8, 300)
    lists <- Seq(false, true)
    exact <- Seq(true, false)
  } yield (evicting, buckets, keys, lists, exact)

  for {
    ((name, policy), buckets, keys, lists, exact) <- Seeds.oneOf(3, ofTables, 1)
    seed <- 1 to Seeds.of(1, 750)
  }
    test(
      s"random histories, evicting $name: $buckets buckets, $keys keys, lists $lists, exact $exact, $seed"
    ) {
      new History(buckets, keys, policy, lists, exact, new Random(seed.toLong)).run(4000)
    }

  private val ofScans = for {
    layout <- Seq(Layout.Ranges, Layout.Prefixes)
    evicting <- Seq("now and then" -> 8, "after each step" -> 0)
    keys <- Seq(8, 300)
    lists <- Seq(false, true)
  } yield (layout, evicting, keys, lists)

  for {
    (layout, (name, policy), keys, lists) <- Seeds.oneOf(2, ofScans, 2)
    seed <- 1 to Seeds.of(1, 48)
  }
    test(s"random histories, evicting $name: ${layout.scans}, $keys keys, lists $lists, $seed") {
      val random = new Random(seed.toLong)
      new History(4, keys, policy, lists, exact = true, random, layout = layout).run(3000)
    }

  private val ofCollisions = for {
    evicting <- Seq("now and then" -> 8, "seldom" -> 1, "after each step" -> 0)
    isRestarted <- Seq(false, true)
    lists <- Seq(false, true)
    exact <- Seq(true, false)
    layout <- Seq(Layout.Colliding, Layout.CollidingRanges, Layout.CollidingPrefixes)
  } yield (evicting, isRestarted, lists, exact, layout)

  for {
    ((name, policy), isRestarted, lists, exact, layout) <- Seeds.oneOf(3, ofCollisions, 3)
    seed <- 1 to Seeds.of(1)
  }
    test(
      s"random histories of keys that collide, ${layout.scans}, evicting $name: restarted $isRestarted, " +
        s"lists $lists, exact $exact, $seed"
    ) {
      val random = new Random(seed.toLong)
      new History(1, 300, policy, lists, exact, random, isRestarted, layout).run(3000)
    }

  for {
    layout <- Seq(Layout.Nothing, Layout.Ranges, Layout.Prefixes)
    isRestarted <- Seq(false, true)
    lists <- Seq(false, true)
    seed <- 1 to 2
  }
    test(
      s"random histories over a database, ${layout.scans}, restarted $isRestarted, lists $lists, $seed"
    ) {
      NativeColds.use { database =>
        val (evicting, exact) = if (seed == 1) (8, true) else (0, false)
        val random = new Random(seed.toLong)
        new History(4, 100, evicting, lists, exact, random, isRestarted, layout, Some(database))
          .run(1500)
      }
    }

  private val ofRestarts = for {
    layout <- Seq(Layout.Nothing, Layout.Ranges, Layout.Prefixes)
    evicting <- Seq("seldom" -> 1, "after each step" -> 0)
    keys <- Seq(8, 300)
    lists <- Seq(false, true)
    exact <- Seq(true, false)
  } yield (layout, evicting, keys, lists, exact)

  for {
    (layout, (name, policy), keys, lists, exact) <- Seeds.oneOf(3, ofRestarts, 4)
    seed <- 1 to Seeds.of(1, 48)
  }
    test(
      s"random histories after a restart, ${layout.scans}, evicting $name: $keys keys, lists $lists, exact $exact, $seed"
    ) {
      val random = new Random(seed.toLong)
      new History(4, keys, policy, lists, exact, random, isRestarted = true, layout).run(2000)
    }

  /**
   * The changes since a cold part, as the files after a manifest have them.
   *
   * @param keys of the state, if they were counted
   */
  private final class Tail(
      override val cold: Option[ColdState],
      written: Map[String, Option[String]],
      keys: Option[Long],
      assigner: BucketAssigner,
      bucketKey: BucketKey
  ) extends BucketLoader {
    override def keyCount(family: Int): Option[Long] = keys
    override def times(family: Int): Option[TimeBuckets] = None

    override def changes(family: Int, bucket: Int, sink: RecordSink): Unit =
      written.filter(c => TextRecords.key(c._1, assigner, bucketKey).bucket == bucket).foreach {
        case (key, value) =>
          // A key that was put and removed again is removed without having been there.
          if (value.isEmpty && key.hashCode % 2 == 0) sink(record(key, "for now"), RecordOp.Put)
          sink(
            record(key, value.getOrElse("")),
            if (value.isEmpty) RecordOp.Remove else RecordOp.Put
          )
      }

    override def find(family: Int, key: RecordBuffer): Array[Byte] = {
      val own = key.toKeyRecord
      written.get(keyOf(own)) match {
        case Some(value) => value.map(record(keyOf(own), _)).orNull
        case None        => cold.get.find(family, key)
      }
    }

    private def record(key: String, value: String): Array[Byte] =
      Record.of(key.getBytes, value.getBytes)

    override def verifyRest(): Unit = ()
    override def heldBytes: Long = 0L
    override def verify(family: Int, found: Long): Unit = assert(keys.forall(_ == found))
    override def loaded(family: Int): Unit = ()
  }

  /**
   * @param evicting how many of a hundred steps evict; 0 for all that can be, after each step
   * @param exact    whether keys are counted exactly; if not, some files do not say how many
   * @param database has the cold parts; they are maps if there is none
   */
  private final class History(
      numBuckets: Int,
      keys: Int,
      evicting: Int,
      multiValued: Boolean,
      exact: Boolean,
      random: Random,
      isRestarted: Boolean = false,
      layout: Layout = Layout.Nothing,
      database: Option[NativeColds] = None
  ) {
    private val assigner = new BucketAssigner(numBuckets)
    private val base = 5L
    private val before: Model =
      if (isRestarted) someModel() else Map.empty
    private val since: Map[String, Option[String]] =
      if (isRestarted) someModel().map { case (k, v) => k -> Option.when(v.length % 3 > 0)(v) }
      else Map.empty
    private val first: Model = since.foldLeft(before) {
      case (model, (key, Some(value))) => model.updated(key, value)
      case (model, (key, None))        => model.removed(key)
    }
    private val host = new ChanceOfRoom(random)
    private val table =
      if (!isRestarted) new VersionedTable(assigner, base, countsExactly = exact)
      else {
        val cold = coldOf(base - 2, before)
        new VersionedTable(
          assigner,
          base,
          new Tail(Some(cold), since, someCount(first), assigner, layout.bucketKey),
          host,
          exact
        )
      }
    private val family =
      table.family(
        FamilySpec(Changes.descriptor(0), layout.bucketKey, layout.scans, multiValued)
      )
    private val models = mutable.Map[Long, Model](base -> first)
    private var open: Option[Model] = None
    private val announced = mutable.ArrayBuffer.empty[WatchedCold]
    private val scans = mutable.ArrayBuffer.empty[HalfWay]
    private val ownScans = mutable.ArrayBuffer.empty[OwnScan]
    var evictions = 0

    def run(steps: Int): Unit = {
      for (_ <- 1 to steps) {
        step()
        if (evicting == 0) evictAll()
        announced.filterInPlace { cold =>
          cold.isClosed = !table.coldParts.contains(cold)
          !cold.isClosed
        }
      }
      scans.foreach(_.finish())
      finishOwn()
      (table.oldest to table.newest).foreach(checkAll)
      assert(evictions > 0 && table.memoryBytes >= 0)
    }

    private def step(): Unit = {
      if (open.isEmpty) begin()
      random.nextInt(100) match {
        case n if n < 20            => write(someKey(), "v" + random.nextInt(1000))
        case n if n < 27            => lookAndWrite()
        case n if n < 45            => remove(someKey())
        case n if n < 58            => look()
        case n if n < 60            => lookTogether()
        case n if n < 68            => commit()
        case n if n < 70            => abort()
        case n if n < 72            => rollBack()
        case n if n < 74            => checkAll(table.oldest + random.nextInt(kept))
        case n if n < 76            => checkOpen()
        case n if n < 79            => beginScan()
        case n if n < 84            => goOn()
        case n if n < 88            => announce()
        case n if n < 88 + evicting => evict(random.nextInt(numBuckets))
        case n if n < 97            => family.fill(random.nextInt(numBuckets))
        case n if n < 98            => evictLater()
        case _                      => look()
      }
    }

    private def someModel(): Model =
      Seq.fill(random.nextInt(keys * 2))(someKey() -> "x" * (1 + random.nextInt(30))).toMap

    /** What a file says of the number of keys. */
    private def someCount(model: Model): Option[Long] =
      Option.when(exact || random.nextInt(3) == 0)(model.size.toLong)

    private def requireCounted(model: Model): Unit =
      if (exact) assert(family.keyCount == Some(model.size))
      else assert(family.keyCount.forall(_ == model.size))

    private def kept: Int = (table.newest - table.oldest).toInt + 1

    private def someKey(): String = layout.key(random.nextInt(keys))

    private def find(key: String): RecordBuffer =
      TextRecords.key(key, assigner, layout.bucketKey)

    private def begin(): Unit = {
      val wanted = table.newest - random.nextInt(4)
      table.begin(scans.map(_.version).foldLeft(wanted)(Math.min))
      open = Some(models(table.newest))
    }

    private def write(key: String, value: String): Unit = {
      val buffer = TextRecords.record(key, value, assigner, layout.bucketKey)
      if (multiValued && random.nextInt(3) > 0) {
        family.merge(buffer)
        changed(key, Some(open.get.getOrElse(key, "") + value))
      } else {
        family.put(buffer)
        changed(key, Some(value))
      }
    }

    private def remove(key: String): Unit = {
      family.remove(find(key))
      changed(key, None)
    }

    private def changed(key: String, value: Option[String]): Unit = {
      open = open.map(_.updatedWith(key)(_ => value))
      requireCounted(open.get)
    }

    private def lookAndWrite(): Unit = {
      val key = someKey()
      look(key)
      if (random.nextBoolean()) write(key, "after a look") else remove(key)
    }

    private def lookTogether(): Unit = {
      val wanted = Seq.fill(random.nextInt(100))(someKey())
      val records = wanted.map(find(_).toKeyRecord).toArray
      def found(at: Long) =
        family.getAll(records, at).toSeq.map(record => Option(record).map(valueOf))
      assert(found(table.newest + 1) == wanted.map(open.get.get))
      val at = table.oldest + random.nextInt(kept)
      assert(found(at) == wanted.map(models(at).get), s"at $at")
    }

    private def look(): Unit = look(someKey())

    private def look(key: String): Unit = {
      assert(Option(family.get(find(key), table.newest + 1)).map(valueOf) == open.get.get(key))
      assert(family.contains(find(key), table.newest + 1) == open.get.contains(key))
      val at = table.oldest + random.nextInt(kept)
      assert(Option(family.get(find(key), at)).map(valueOf) == models(at).get(key), s"at $at")
      assert(family.contains(find(key), at) == models(at).contains(key))
    }

    private def commit(): Unit = {
      finishOwn()
      // What was appended in several steps becomes one entry there.
      if (multiValued || random.nextInt(4) > 0) checkChanges()
      table.commit()
      models(table.newest) = open.get
      open = None
      requireCounted(models(table.newest))
    }

    private def checkChanges(): Unit = {
      val changes = mutable.Map.empty[String, Option[String]]
      table.openChanges.families.head.foreach { (_, op, record) =>
        val value = Option.when(op != RecordOp.Remove)(valueOf(record))
        assert(changes.put(keyOf(record), value).isEmpty, "one write per key")
      }
      changes.foreach { case (key, value) =>
        val now = open.get.get(key)
        assert(now == value || (multiValued && now.get.endsWith(value.get)))
      }
      val before = models(table.newest)
      (before.keySet ++ open.get.keySet)
        .filter(k => before.get(k) != open.get.get(k))
        .foreach(k => assert(changes.contains(k), "every difference is in the change set"))
    }

    private def abort(): Unit = {
      finishOwn()
      table.abort()
      open = None
      requireCounted(models(table.newest))
    }

    private def rollBack(): Unit = {
      abort()
      val lowest = scans.map(_.version).foldLeft(table.oldest)(Math.max)
      table.rollBackTo(lowest + random.nextInt((table.newest - lowest).toInt + 1))
      models.keys.filter(_ > table.newest).foreach(models.remove)
      requireCounted(models(table.newest))
    }

    private def announce(): Unit = {
      val version = Math.max(base, table.newest - random.nextInt(6))
      val model = models(version)
      val cold = coldOf(version, model)
      if (table.advance(cold)) announced += cold else cold.release()
    }

    private def coldOf(version: Long, model: Model): WatchedCold = {
      val count = someCount(model)
      database match {
        case None       => new MapCold(version, model, assigner, layout.bucketKey, count.isDefined)
        case Some(real) =>
          val records = model.map { case (key, value) =>
            TextRecords.record(key, value, assigner, layout.bucketKey)
          }
          real.at(version, ChangelogFamily(Changes.descriptor(0), count), records)
      }
    }

    private def evict(bucket: Int): Unit = {
      val before = table.memoryBytes
      val freed = family.evict(bucket)
      assert(table.memoryBytes == before - freed)
      if (!table.isResident) evictions += 1
    }

    private def evictLater(): Unit = {
      val order = random.shuffle(family.residences).toIndexedSeq
      table.evictLater(order, 1L + random.nextInt(20000))(_ => evictions += 1)
    }

    private def evictAll(): Unit = (0 until numBuckets).foreach(evict)

    private def checkAll(version: Long): Unit = {
      assert(pairsOf(family.records(version)) == models(version).toSeq.sorted, s"at $version")
      check(somePart(), version, models(version))
    }

    private def checkOpen(): Unit = {
      assert(pairsOf(family.records(table.newest + 1)) == open.get.toSeq.sorted)
      check(somePart(), table.newest + 1, open.get)
    }

    private def check(part: Part, at: Long, model: Model): Unit = {
      val found = part.records(family, at).map(r => keyOf(r) -> valueOf(r)).toSeq
      if (part.isOrdered) assert(found == found.sorted)
      assert(found.sorted == model.filter(p => part.holds(p._1)).toSeq.sorted, s"a part at $at")
    }

    private def somePart(): Part = layout.part(() => someKey(), random)

    /** A scan at a version that stays readable, and goes on while the writer does. */
    private def beginScan(): Unit =
      if (random.nextBoolean()) {
        val version = table.oldest + random.nextInt(kept)
        if (scans.size < 3) scans += new HalfWay(version, models(version))
      } else if (ownScans.size < 3) ownScans += new OwnScan(open.get)

    private def goOn(): Unit = {
      ownScans.filterInPlace(!_.goOn())
      scans.filterInPlace(!_.goOn())
    }

    /** Some are left half-way, as by who looks for the first that fits. */
    private def finishOwn(): Unit = {
      ownScans.filter(_ => random.nextInt(4) > 0).foreach(_.finish())
      ownScans.clear()
    }

    private abstract class Scan(at: Long) {
      private val part = somePart()
      private val records = part.records(family, at)
      private val found = mutable.ArrayBuffer.empty[(String, String)]

      def check(found: Seq[(String, String)], part: Part): Unit

      /** Whether it has come to its end. */
      def goOn(): Boolean = {
        for (_ <- 1 to 1 + random.nextInt(keys / 2) if records.hasNext) {
          val record = records.next()
          found += keyOf(record) -> valueOf(record)
        }
        if (!records.hasNext) {
          if (part.isOrdered) assert(found == found.sorted)
          check(found.toSeq, part)
        }
        !records.hasNext
      }

      def finish(): Unit = while (!goOn()) ()
    }

    private final class HalfWay(val version: Long, model: Model) extends Scan(version) {
      override def check(found: Seq[(String, String)], part: Part): Unit = {
        val wanted = model.filter(p => part.holds(p._1)).toSeq.sorted
        assert(found.sorted == wanted, s"a long scan at $version")
      }
    }

    /** Of the open version as it was when the scan began, whatever was written since. */
    private final class OwnScan(model: Model) extends Scan(table.newest + 1) {
      override def check(found: Seq[(String, String)], part: Part): Unit = {
        val wanted = model.filter(p => part.holds(p._1)).toSeq.sorted
        assert(found.sorted == wanted, "a scan of the open version")
      }
    }
  }
}
