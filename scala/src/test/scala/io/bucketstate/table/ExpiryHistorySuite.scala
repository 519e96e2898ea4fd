package io.bucketstate.table

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable
import scala.util.Random

import io.bucketstate.checkpoint.changelog.ChangelogFamily
import io.bucketstate.record.{
  BucketAssigner,
  BucketKey,
  ColdState,
  Expiry,
  FamilySpec,
  KeyRange,
  Record,
  RecordBuffer,
  RecordOp,
  RecordSink,
  Scans,
  TimeBuckets,
  TimedValue
}
import io.bucketstate.table.cold.BucketLoader
import io.bucketstate.table.version.Versions
import io.bucketstate.testkit.ExpiryModel.Item
import io.bucketstate.testkit.TextRecords.keyOf
import io.bucketstate.testkit.{
  ChanceOfRoom,
  Changes,
  ExpiryModel,
  NativeColds,
  Seeds,
  TextRecords,
  TidySuite,
  WatchedCold
}

/**
 * A table whose records expire against a map per version that drops them at once: whatever is written, undone, read,
 * announced, evicted and swept in whatever order, no answer and no count differs from the map's.
 */
class ExpiryHistorySuite extends TidySuite {
  import ExpiryHistorySuite._

  for {
    (name, evicting) <- Seq("never evicting" -> 0, "evicting now and then" -> 8)
    byProcessingTime <- Seq(false, true)
    keys <- Seq(8, 300)
    seed <- 1 to 5
  }
    test(s"random histories, $name: by processing time $byProcessingTime, $keys keys, $seed") {
      new History(keys, evicting, byProcessingTime, new Random(seed.toLong)).run(4000)
    }

  for {
    (name, evicting) <- Seq("never evicting" -> 0, "evicting now and then" -> 8)
    byProcessingTime <- Seq(false, true)
    isRestarted <- Seq(false, true)
    seed <- 1 to Seeds.of(1)
  }
    test(
      s"random histories of keys that collide, $name: by processing time $byProcessingTime, restarted $isRestarted, $seed"
    ) {
      val random = new Random(seed.toLong)
      new History(
        300,
        evicting,
        byProcessingTime,
        random,
        isRestarted,
        nameOf = Layout.Colliding.key
      )
        .run(4000)
    }

  // Whole buckets with keys that are newer than the cold part, swept while the horizon goes far, and evicted then.
  for {
    isRestarted <- Seq(false, true)
    keys <- Seq(8, 300)
    seed <- 1 to Seeds.of(8)
  }
    test(
      s"random histories of many without a time, evicting seldom: restarted $isRestarted, $keys keys, $seed"
    ) {
      val random = new Random(seed.toLong)
      new History(keys, 1, byProcessingTime = false, random, isRestarted, None, Mostly.Untimed)
        .run(4000)
    }

  for {
    byProcessingTime <- Seq(false, true)
    keys <- Seq(8, 300)
    seed <- 1 to 6
  }
    test(s"random histories after a restart: by processing time $byProcessingTime, $keys, $seed") {
      val random = new Random(seed.toLong)
      new History(keys, evicting = 4, byProcessingTime, random, isRestarted = true).run(2000)
    }

  for {
    byProcessingTime <- Seq(false, true)
    isRestarted <- Seq(false, true)
    seed <- 1 to 2
  }
    test(
      s"random histories over a database: by processing time $byProcessingTime, restarted $isRestarted, $seed"
    ) {
      NativeColds.use { database =>
        val random = new Random(seed.toLong)
        new History(100, evicting = 8, byProcessingTime, random, isRestarted, Some(database))
          .run(2000)
      }
    }

  test("what has expired gives its memory back beside writes, without being asked for") {
    val expiry = Expiry(10L, Some(100L), byProcessingTime = false)
    val table = new VersionedTable(assigner, 0L)
    val family = table.family(specOf(expiry))
    var most = 0L
    for (batch <- 1 to 200) {
      table.begin(table.newest)
      (0 until 500).foreach(n => family.put(record(s"$batch-$n", Item(batch * 10L, "v" * 50))))
      table.commit()
      assert(family.keyCount == Some(500L * math.min(batch, 12)))
      if (batch > 100) most = math.max(most, table.memoryBytes)
    }
    // Twelve spans of 500 keys are there; what is written for a batch and not yet settled comes on top.
    val perKey = most / (12 * 500)
    assert(perKey < 300, s"$perKey bytes per key that is there")
  }

  test("where nothing expires the time buckets of years are some thousand") {
    val minute = 60L
    val table = new VersionedTable(assigner, 0L)
    val family = table.family(specOf(Expiry(minute, None, byProcessingTime = false)))
    // A key for each minute, an hour in a batch; and one that is written again and again.
    val hours = 6000
    val begin = 1000000L * minute
    for (hour <- 0 until hours) {
      table.begin(table.newest)
      for (n <- hour * 60 until hour * 60 + 60)
        family.put(record(s"$n", Item(begin + n * minute, "")))
      family.put(record("often", Item(begin + hour * 60 * minute, "")))
      table.commit()
    }
    val (keys, buckets) = (hours * 60, family.expiry.timeBuckets)
    assert(buckets > 2000 && buckets < 4000)
    assert(family.keyCount.contains(keys + 1L))

    // What is removed in the order of time leaves, and is counted, as ever.
    table.begin(table.newest)
    (0 until keys / 2).foreach(n => family.remove(TextRecords.key(s"$n", assigner)))
    val times = table.openChanges.families.head.times.get
    table.commit()
    assert(family.keyCount.contains(keys / 2 + 1L) && family.expiry.timeBuckets < buckets)

    // Expiry that is turned on then takes no key too early, and few of them late.
    val after = 30 * 86400L
    val expiring = new FamilyTimes(
      Expiry(minute, Some(after), byProcessingTime = false),
      new Versions(table.newest),
      times
    )
    expiring.begin(0L)
    def isThere(n: Int): Boolean =
      expiring.current.shows(family.get(TextRecords.key(s"$n", assigner), table.newest))
    val (expired, young) = (keys / 2 until keys).partition(_ < keys - 1 - after / minute)
    assert(young.forall(isThere) && expired.size > 100000)
    val late = expired.count(isThere)
    assert(late < expired.size / 50, s"$late keys are there for longer than that")
  }

  test("a key ages from the newest time that it was written with") {
    val table = new VersionedTable(assigner, 0L)
    val family = table.family(specOf(Expiry(10L, Some(100L), byProcessingTime = false)))
    def batch(writes: (String, Long)*): Unit = {
      table.begin(table.newest)
      writes.foreach { case (key, start) => family.put(record(key, Item(start, s"at $start"))) }
      table.commit()
    }
    def textOf(key: String) = Option(
      family.get(TextRecords.key(key, assigner), table.newest)
    ).map(itemOf(_).value)
    batch("a" -> 200L, "b" -> 200L)
    batch("a" -> 110L)
    batch("c" -> 300L)
    assert(textOf("a").contains("at 110"), "an older time does not let it expire")
    batch("d" -> 190L, "b" -> 190L)
    assert(
      textOf("d").isEmpty && family.expiry.late == 1,
      "what is not there is not written too late"
    )
    assert(textOf("b").contains("at 190"), "what is there is, and stays as young as it was")
    batch("c" -> 310L)
    batch()
    assert(textOf("a").isEmpty && family.keyCount == Some(1) && family.expiry.expired == 2)
  }
}

private object ExpiryHistorySuite {
  private type Model = ExpiryModel[String, String]
  private val assigner = new BucketAssigner(4)
  private val Never = TimedValue.Never
  private val Untimed = TimedValue.Untimed

  /**
   * @param never   how many of a hundred records have no time
   * @param filling how many of a hundred steps make buckets whole
   * @param jump    seconds that the clock goes on now and then
   */
  private final class Mostly(val never: Int, val filling: Int, val jump: Long)

  private object Mostly {
    val Timed: Mostly = new Mostly(never = 10, filling = 1, jump = 3L)
    val Untimed: Mostly = new Mostly(never = 40, filling = 7, jump = 130L)
  }

  private def specOf(expiry: Expiry): FamilySpec =
    FamilySpec(Changes.descriptor(0), BucketKey.Whole, Scans.Nothing, expiry = Some(expiry))

  private val timed = specOf(Expiry.None)

  private def valueOf(item: Item[String]): Array[Byte] = {
    val text = "\u0001".getBytes(UTF_8) ++ item.value.getBytes(UTF_8)
    if (item.start == Untimed) text
    else {
      val bytes = new Array[Byte](TimedValue.Length + text.length)
      System.arraycopy(text, 0, bytes, TimedValue.put(bytes, 0, item.start), text.length)
      bytes
    }
  }

  private def record(key: String, item: Item[String]): RecordBuffer = {
    val buffer = TextRecords.key(key, assigner)
    val bytes = valueOf(item)
    System.arraycopy(bytes, 0, buffer.valueSpace(bytes.length), buffer.keyEnd, bytes.length)
    buffer.valueDone(buffer.keyEnd + bytes.length)
    buffer
  }

  private def itemOf(record: Array[Byte]): Item[String] = {
    val from = timed.rowAt(record, Record.keyEnd(record)) + 1
    Item(TimedValue.startOf(record), new String(record, from, record.length - from, UTF_8))
  }

  private final class ModelCold(override val version: Long, model: Model) extends WatchedCold {
    override def wholeBytes: Long = 100L * model.items.size
    override def keyCount(family: Int): Option[Long] = Some(model.items.size.toLong)

    override def find(family: Int, key: RecordBuffer): Array[Byte] = {
      requireOpen()
      val name = keyOf(key.toKeyRecord)
      model.items.get(name).map(record(name, _).toRecord).orNull
    }

    override def mayHold(family: Int, key: RecordBuffer): Boolean =
      model.items.contains(keyOf(key.toKeyRecord)) || key.hash % 3 == 0

    override def scan(family: Int, bucket: Int, sink: RecordSink): Unit = {
      requireOpen()
      model.items.foreach { case (key, item) =>
        val buffer = record(key, item)
        if (buffer.bucket == bucket) sink(buffer.toRecord, RecordOp.Put)
      }
    }

    override def range(family: Int, bucket: Int, keys: KeyRange, most: Int)(
        sink: Array[Byte] => Unit
    ): Unit = throw new IllegalStateException("what expires is not scanned by parts of keys")
  }

  /** The changes since a cold part, as changelogs have them: also such as have expired since. */
  private final class Tail(
      base: ColdState,
      changes: Seq[(String, Option[Item[String]])],
      model: Model
  ) extends BucketLoader {
    override def keyCount(family: Int): Option[Long] = Some(model.items.size.toLong)
    override def times(family: Int): Option[TimeBuckets] = Some(model.times)
    override def cold: Option[ColdState] = Some(base)

    override def changes(family: Int, bucket: Int, sink: RecordSink): Unit =
      changes.foreach { case (key, item) =>
        val buffer = record(key, item.getOrElse(Item(0L, "")))
        if (buffer.bucket == bucket)
          sink(buffer.toRecord, if (item.isEmpty) RecordOp.Remove else RecordOp.Put)
      }

    /** As files have it, which do not look at times. */
    override def find(family: Int, key: RecordBuffer): Array[Byte] = {
      val name = keyOf(key.toKeyRecord)
      changes.findLast(_._1 == name) match {
        case Some((_, item)) => item.map(record(name, _).toRecord).orNull
        case None            => base.find(family, key)
      }
    }

    override def verifyRest(): Unit = ()
    override def heldBytes: Long = 0L
    override def verify(family: Int, found: Long): Unit = assert(found == model.items.size)
    override def loaded(family: Int): Unit = ()
  }

  /**
   * @param evicting how many of a hundred steps evict
   * @param database has the cold parts; they are maps if there is none
   * @param nameOf   the keys by their numbers
   */
  private final class History(
      keys: Int,
      evicting: Int,
      byProcessingTime: Boolean,
      random: Random,
      isRestarted: Boolean = false,
      database: Option[NativeColds] = None,
      mostly: Mostly = Mostly.Timed,
      nameOf: Int => String = n => s"key-$n"
  ) {
    private val expiry = Expiry(10L, Some(100L + random.nextInt(3) * 5), byProcessingTime)
    private val base = 5L
    private var now = 1000L
    private var open: Option[Model] = None
    private val host = new ChanceOfRoom(random)
    private val (loader, first) = if (isRestarted) restarted() else (BucketLoader.Empty, Empty)
    private val table = new VersionedTable(assigner, base, loader, host)
    private val family = table.family(specOf(expiry))
    private val models = mutable.Map[Long, Model](base -> first)
    private val announced = mutable.ArrayBuffer.empty[WatchedCold]
    private val scans = mutable.ArrayBuffer.empty[HalfWay]

    private def Empty: Model = ExpiryModel(Some(expiry))

    /** Half of it has no times yet, as when a checkpoint's query lets state expire from now on. */
    private def restarted(): (BucketLoader, Model) = {
      def items() = Seq.fill(random.nextInt(keys * 2))(someKey() -> someItem()).toMap
      val untimed = if (random.nextBoolean()) Never else now - random.nextInt(150)
      val before = ExpiryModel(Some(expiry), now, now - 200, untimed, items()).shown
      val later = before.copy(horizon = now - random.nextInt(150))
      val changes = items().toSeq.map { case (k, i) =>
        k -> Option.when(random.nextInt(3) > 0)(i)
      }
      val model = changes
        .foldLeft(later.items) {
          case (all, (key, Some(item))) => all.updated(key, item)
          case (all, (key, None))       => all.removed(key)
        }
      val now0 = later.copy(items = model).shown
      (new Tail(coldOf(base - 2, before), changes, now0), now0)
    }

    private def someItem(): Item[String] = {
      val text = "x" * random.nextInt(30)
      random.nextInt(100) match {
        case n if n < mostly.never                      => Item(Never, text)
        case n if n < mostly.never + 10 && open.isEmpty => Item(Untimed, text)
        case _ => Item(expiry.startOf(now - random.nextInt(200)), text)
      }
    }

    def run(steps: Int): Unit = {
      for (_ <- 1 to steps) {
        step()
        announced.filterInPlace { cold =>
          cold.isClosed = !table.coldParts.contains(cold)
          !cold.isClosed
        }
      }
      scans.foreach(_.finish())
      (table.oldest to table.newest).foreach(checkAll)
      assert(models.values.exists(_.horizon > first.horizon), "something expired")
    }

    private def step(): Unit = {
      if (open.isEmpty) begin()
      random.nextInt(100) match {
        case n if n < 35            => put(someKey())
        case n if n < 45            => remove(someKey())
        case n if n < 62            => look(someKey())
        case n if n < 72            => commit()
        case n if n < 74            => abort()
        case n if n < 76            => rollBack()
        case n if n < 78            => checkAll(table.oldest + random.nextInt(kept))
        case n if n < 80            => check(family.records(table.newest + 1), open.get)
        case n if n < 82            => beginScan()
        case n if n < 86            => scans.filterInPlace(!_.goOn())
        case n if n < 90            => announce()
        case n if n < 90 + evicting => family.evict(random.nextInt(4))
        case n if n >= 99 - mostly.filling && n < 99 => (0 until 4).foreach(family.fill(_))
        case _ => now += (if (random.nextInt(20) == 0) mostly.jump else random.nextInt(8).toLong)
      }
    }

    private def kept: Int = (table.newest - table.oldest).toInt + 1

    private def someKey(): String = nameOf(random.nextInt(keys))

    private def begin(): Unit = {
      val wanted = table.newest - random.nextInt(4)
      table.begin(scans.map(_.version).foldLeft(wanted)(Math.min), now)
      open = Some(models(table.newest).begun(now))
      val gone = models(table.newest).items.size - open.get.items.size
      assert(family.expiry.expired == gone && family.keyCount == Some(open.get.items.size))
    }

    private def put(key: String): Unit = {
      val item =
        if (byProcessingTime) Item(family.writeTime, "p" * random.nextInt(30)) else someItem()
      family.put(record(key, item))
      changed(open.get.put(key, item.value, item.start))
    }

    private def remove(key: String): Unit = {
      family.remove(TextRecords.key(key, assigner))
      changed(open.get.removed(key))
    }

    private def changed(model: Model): Unit = {
      open = Some(model)
      assert(family.keyCount == Some(model.items.size))
    }

    private def look(key: String): Unit = {
      val at = table.oldest + random.nextInt(kept + 1)
      val model = if (at > table.newest) open.get else models(at)
      val buffer = TextRecords.key(key, assigner)
      assert(Option(family.get(buffer, at)).map(itemOf) == model.items.get(key), s"at $at")
      assert(family.contains(buffer, at) == model.items.contains(key))
    }

    private def commit(): Unit = {
      val changes = table.openChanges.families.head
      assert(changes.times.contains(open.get.times))
      assert(changes.keyCount == Some(open.get.items.size))
      table.commit()
      models(table.newest) = open.get
      open = None
    }

    private def abort(): Unit = {
      table.abort()
      open = None
      assert(family.keyCount == Some(models(table.newest).items.size))
    }

    private def rollBack(): Unit = {
      abort()
      val lowest = scans.map(_.version).foldLeft(table.oldest)(Math.max)
      table.rollBackTo(lowest + random.nextInt((table.newest - lowest).toInt + 1))
      models.keys.filter(_ > table.newest).foreach(models.remove)
      assert(family.keyCount == Some(models(table.newest).items.size))
    }

    private def announce(): Unit = {
      val version = Math.max(base, table.newest - random.nextInt(6))
      val cold = coldOf(version, models(version))
      if (table.advance(cold)) announced += cold else cold.release()
    }

    private def coldOf(version: Long, model: Model): WatchedCold = database match {
      case None       => new ModelCold(version, model)
      case Some(real) =>
        val keys = model.items.size.toLong
        val records = model.items.map { case (key, item) => record(key, item) }
        real.at(
          version,
          ChangelogFamily(Changes.descriptor(0), Some(keys), Some(model.times)),
          records
        )
    }

    private def checkAll(version: Long): Unit = check(family.records(version), models(version))

    private def check(records: Iterator[Array[Byte]], model: Model): Unit =
      assert(records.map(r => keyOf(r) -> itemOf(r)).toSeq.sortBy(_._1) == sorted(model))

    private def sorted(model: Model) = model.items.toSeq.sortBy(_._1)

    private def beginScan(): Unit = if (scans.size < 3) {
      val version = table.oldest + random.nextInt(kept)
      scans += new HalfWay(version)
    }

    /** A scan at a version that stays readable, and goes on while the writer does. */
    private final class HalfWay(val version: Long) {
      private val model = models(version)
      private val records = family.records(version)
      private val found = mutable.ArrayBuffer.empty[(String, Item[String])]

      /** Whether it has come to its end. */
      def goOn(): Boolean = {
        for (_ <- 1 to 1 + random.nextInt(keys / 2) if records.hasNext) {
          val record = records.next()
          found += keyOf(record) -> itemOf(record)
        }
        if (!records.hasNext) assert(found.toSeq.sortBy(_._1) == sorted(model), s"at $version")
        !records.hasNext
      }

      def finish(): Unit = while (!goOn()) ()
    }
  }
}
