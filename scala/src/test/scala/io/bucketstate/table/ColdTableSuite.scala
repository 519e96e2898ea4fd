package io.bucketstate.table

import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}

import scala.collection.mutable
import scala.util.{Failure, Random, Success, Try}

import io.bucketstate.error.UnavailableException
import io.bucketstate.record.{BucketAssigner, FamilySpec, RecordBuffer, Scans}
import io.bucketstate.testkit.TextRecords._
import io.bucketstate.testkit.{Changes, MapCold, TextRecords, TidySuite}

/** A table over a cold part: readers beside a writer that evicts, what leaves memory, and which removal counts. */
class ColdTableSuite extends TidySuite {
  private type Model = Map[String, String]

  /** A table of one family, and what to write in it. */
  private final class Room(
      numBuckets: Int,
      countsExactly: Boolean = true,
      layout: Layout = Layout.Nothing
  ) {
    val assigner: BucketAssigner = new BucketAssigner(numBuckets)
    val table: VersionedTable =
      new VersionedTable(assigner, 0L, countsExactly = countsExactly)
    val family: FamilyState =
      table.family(FamilySpec(Changes.descriptor(0), layout.bucketKey, layout.scans))

    def key(text: String): RecordBuffer = TextRecords.key(text, assigner, layout.bucketKey)

    def record(text: String, value: String): RecordBuffer =
      TextRecords.record(text, value, assigner, layout.bucketKey)

    def version(write: => Unit): Unit = {
      table.begin(table.newest)
      write
      table.commit()
    }

    val value: String = new String(new Array[Byte](100))

    /** One version with keys of 100 bytes, by number. */
    def written(keys: Range): Unit =
      version(keys.foreach(n => family.put(record(s"k$n", value))))

    /** The cold part of the newest version. */
    def coldOf(model: Model): MapCold =
      new MapCold(table.newest, model, assigner, layout.bucketKey)

    /** The cold part of the newest version, if it has a thousand such keys. */
    def thousand: MapCold =
      coldOf((0 until 1000).map(n => s"k$n" -> value).toMap)
  }

  test("readers in other threads see their version whole while the writer evicts and announces") {
    concurrently()
  }

  test("the same while another thread reads ahead what makes buckets whole again") {
    concurrently(fills = _ => true)
  }

  test("the same of a writer that does not look up what it writes") {
    concurrently(fills = _ % 2 == 0, countsExactly = false)
  }

  for (layout <- Seq(Layout.Ranges, Layout.Prefixes))
    test(s"the same of readers that scan by a part of the keys, ${layout.scans}") {
      concurrently(fills = _ % 2 == 0, layout = layout, seeds = 2L)
    }

  private def concurrently(
      fills: Long => Boolean = _ => false,
      countsExactly: Boolean = true,
      layout: Layout = Layout.Nothing,
      seeds: Long = 4L
  ): Unit = {
    val inPart = (1L to seeds).map { seed =>
      concurrent(new Random(seed), fills(seed), countsExactly, layout)
    }
    assert(inPart.sum > 0, "nobody read what was not whole")
  }

  /** @return how often the reader came by buckets that were not whole */
  private def concurrent(
      random: Random,
      fills: Boolean,
      countsExactly: Boolean,
      layout: Layout
  ): Int = {
    val room = new Room(numBuckets = 2, countsExactly, layout)
    import room._
    var model: Model = Map.empty
    val pinned = new AtomicReference[(Long, Model)]((0L, Map.empty))
    val reading = new AtomicReference[java.lang.Long](null)
    val wrong = new AtomicReference[Throwable]
    val ofReader = new Random(random.nextLong())
    var inPart = 0 // the reader's
    @volatile var stop = false
    def look(): Unit = {
      val (version, expected) = pinned.synchronized {
        val now = pinned.get
        reading.set(now._1)
        now
      }
      try {
        if (family.notWhole > 0) inPart += 1
        assert(pairsOf(family.records(version)) == expected.toSeq.sorted, s"at $version")
        val part = layout.part(() => layout.key(ofReader.nextInt(200)), ofReader)
        val found = part.records(family, version).map(r => keyOf(r) -> valueOf(r)).toSeq
        if (part.isOrdered) assert(found == found.sorted, s"at $version")
        val wanted = expected.filter(pair => part.holds(pair._1)).toSeq.sorted
        assert(found.sorted == wanted, s"a part at $version")
        for (n <- 0 until 200) {
          val name = layout.key(n)
          val found = Option(family.get(key(name), version)).map(valueOf)
          assert(found == expected.get(name), s"$name at $version")
        }
      } finally reading.set(null)
    }
    val reader = new Thread(() =>
      try while (!stop) look()
      catch { case e: Throwable => wrong.set(e) }
    )
    val filler = new Thread(() =>
      try while (!stop) (0 to 1).foreach(family.fill)
      catch { case e: Throwable => wrong.set(e) }
    )
    reader.start()
    if (fills) filler.start()
    val announced = mutable.ArrayBuffer.empty[MapCold]
    for (round <- 1 to 400 if wrong.get == null) {
      pinned.synchronized {
        val held = Option(reading.get).map(_.longValue)
        pinned.set((table.newest, model))
        table.begin(held.fold(table.newest)(Math.min(_, table.newest)))
      }
      for (_ <- 1 to 40) {
        val name = layout.key(random.nextInt(200))
        if (random.nextInt(3) == 0) {
          family.remove(key(name))
          model -= name
        } else {
          family.put(record(name, s"v$round"))
          model += name -> s"v$round"
        }
        if (random.nextInt(10) == 0) (0 to 1).foreach(family.evict)
      }
      table.commit()
      assert(family.keyCount.isEmpty || family.keyCount == Some(model.size))
      if (random.nextInt(3) == 0) {
        val cold = coldOf(model)
        if (table.advance(cold)) announced += cold
      }
      announced.filterInPlace { cold =>
        cold.isClosed = !table.coldParts.contains(cold)
        !cold.isClosed
      }
    }
    stop = true
    reader.join()
    filler.join()
    if (wrong.get != null) throw wrong.get
    inPart
  }

  for (layout <- Seq(Layout.Ranges, Layout.Prefixes))
    test(s"a scan takes no answer of a floor that rose before it was looked at, ${layout.scans}") {
      val room = new Room(numBuckets = 1, layout = layout)
      import room._
      val names = (0 until 30).map(layout.key)
      val gone = names(19)
      // Smaller: the scan stands on that in memory, and has not come to the other.
      val changed = names(12)
      version(names.foreach(name => family.put(record(name, "x"))))
      val before = coldOf(names.map(_ -> "x").toMap)
      assert(table.advance(before))
      table.begin(1L)
      table.settle()
      family.evict(0)
      assert(family.notWhole == 1)
      family.put(record(changed, "y"))
      family.remove(key(gone))
      table.commit()
      val after = names.map(_ -> "x").toMap - gone + (changed -> "y")
      var answers = 0
      before.answered = () => {
        answers += 1
        // The removal that hides the answer is of no use any more.
        assert(table.advance(coldOf(after)))
        table.begin(2L)
        table.settle()
      }
      val prefix = gone.take(layout.key(0).length - 2)
      val scan = layout.scans match {
        case Scans.Prefixes => family.prefixed(prefix.getBytes, 2L)
        case _              => family.ranged(null, null, 2L)
      }
      val wanted = after.filter { case (name, _) =>
        layout.scans != Scans.Prefixes || name.startsWith(prefix)
      }
      assert(pairsOf(scan) == wanted.toSeq.sorted)
      assert(answers == 1 && table.coldParts.map(_.version) == Seq(2L))
      table.abort()
    }

  for (layout <- Seq(Layout.Ranges, Layout.Prefixes))
    test(s"a scan that failed half way gives no record any more, ${layout.scans}") {
      val room = new Room(numBuckets = 4, layout = layout)
      import room._
      val names = (0 until 1000).map(layout.key)
      version(names.foreach(name => family.put(record(name, "x"))))
      val cold = coldOf(names.map(_ -> "x").toMap)
      assert(table.advance(cold))
      table.begin(1L)
      table.settle()
      (0 until 4).foreach(family.evict)
      table.abort()
      assert(family.notWhole == 4)
      val prefix = names.head.take(layout.key(0).length - 2)
      def begun() = layout.scans match {
        case Scans.Prefixes => family.prefixed(prefix.getBytes, 1L)
        case _              => family.ranged(null, null, 1L)
      }
      val whole = begun().size
      val calls = new AtomicInteger
      var failed = 0
      for (failing <- 1 to 40) {
        calls.set(0)
        cold.asked = () =>
          if (calls.incrementAndGet() == failing)
            throw new UnavailableException("a file", "it timed out", "Try again.")
        Try(begun()).foreach { scan =>
          Try(scan.size) match {
            case Success(size) => assert(size == whole)
            case Failure(_)    =>
              failed += 1
              assertThrows[UnavailableException](scan.hasNext)
          }
        }
      }
      assert(failed > 0, "nothing failed half way")
    }

  test("what is clean leaves memory, and comes back as it was") {
    val room = new Room(numBuckets = 1)
    import room._
    written(0 until 1000)
    assert(family.evict(0) == 0, "there is no cold part")
    for (_ <- 1 to 2) {
      table.advance(thousand)
      written(0 until 10)
    }
    written(0 until 600)
    val whole = table.memoryBytes
    val freed = family.evict(0)
    assert(freed > 400 * 110 && table.memoryBytes == whole - freed, "all not written since")
    assert(!table.isResident && family.keyCount == Some(1000))
    assert(family.evict(0) == 0)
    assert(family.records(table.newest).size == 1000)
  }

  test("what is read ahead to make a bucket whole counts as memory until it is a part of it") {
    val room = new Room(numBuckets = 1)
    import room._
    written(0 until 1000)
    for (_ <- 1 to 2) {
      table.advance(thousand)
      written(0 until 10)
    }
    written(0 until 600)
    assert(family.evict(0) > 0 && family.canFill)
    val short = table.memoryBytes
    assert(family.fill(0))
    val read = table.memoryBytes
    assert(read > short + 1000 * 110)
    assert(!family.fill(0), "it is there")
    assert(table.memoryBytes == read)
    written(0 until 1)
    assert(table.isResident && table.memoryBytes < read)
  }

  test(
    "what is to leave later leaves beside writes, a bucket with some of them, until enough is free"
  ) {
    val room = new Room(numBuckets = 4)
    import room._
    written(0 until 1000)
    for (_ <- 1 to 3) {
      table.advance(thousand)
      written(0 until 600)
    }
    table.advance(thousand)
    var freed = Vector.empty[Long]
    val before = family.residences.map(_.bytes).sum
    table.evictLater(family.residences.toIndexedSeq, before / 2)(bytes => freed :+= bytes)
    table.begin(table.newest)
    val counts = (0 until 1000).map { n =>
      family.put(record(s"new $n", value))
      freed.size
    }
    assert(counts.zip(counts.tail).forall { case (a, b) => b - a <= 1 }, "one with each write")
    assert(counts.take(250).forall(_ == 0), "what was written last has to settle before that")
    assert(freed.sum >= before / 2 && freed.init.sum < before / 2)
    assert((0 until 1000).forall(n => family.get(key(s"k$n"), table.newest) != null))
    table.commit()
    assert(family.records(table.newest).size == 2000)
  }

  test("of a key that was removed, put and removed since the floor the newest removal counts") {
    val room = new Room(numBuckets = 1)
    import room._
    def settleAll(): Unit = version((0 until 100).foreach(n => family.put(key(s"other $n"))))
    def cold(version: Long) = new MapCold(version, Map("k" -> ""), assigner)
    version(family.put(key("k")))
    assert(table.advance(cold(1)))
    version(family.remove(key("k")))
    version(family.put(key("k"))) // 3
    version(family.remove(key("k")))
    settleAll()
    settleAll()
    family.evict(0)
    assert(!table.isResident)
    assert(family.get(key("k"), table.newest) == null)
    assert(table.advance(cold(3)))
    settleAll()
    settleAll()
    family.evict(0)
    assert(family.get(key("k"), table.newest) == null && table.coldParts.map(_.version) == Seq(3L))
  }
}
