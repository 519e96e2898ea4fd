package io.bucketstate.checkpoint.run.open

import java.nio.file.Path
import java.util.concurrent.atomic.AtomicReference

import scala.util.{Random, Using}

import org.scalatest.tags.Slow

import io.bucketstate.checkpoint.io.NioFileStore
import io.bucketstate.checkpoint.records.Lookup
import io.bucketstate.checkpoint.run.read.{FilesByBucket, RunReaders}
import io.bucketstate.checkpoint.run.{ColdReads, Run, VersionSpan}
import io.bucketstate.record.{KeyRange, Record}
import io.bucketstate.testkit.{LeftOvers, Runs, TempFolder, TidySuite}

/** What the stores of a process share to read runs: one cache, one limit on open files. */
@Slow
class SharedReadsSuite extends TidySuite {
  import Runs._

  /** A store of one run of many files. */
  private final class Reading(
      folder: Path,
      shared: SharedReads,
      limits: ReadLimits,
      val content: Content
  ) {
    val room: Room = new Room(new NioFileStore(folder.resolve("s")), folder.resolve("l"))
    val run: Run = room.writer(1).write(VersionSpan(1, 9), cursor(content), oldest = false)
    val files: FilesByBucket = new FilesByBucket(Seq(run))
    val reads: StoreReads = shared.join(limits)
    val readers: RunReaders = new RunReaders(room.local, reads)
    val keys: IndexedSeq[Place] = content.keys.toIndexedSeq

    /** Looks up a key that is there, and one that is not, in the same file. */
    def check(place: Place): Unit = {
      val (family, bucket, _) = place
      val found = readers.get(files, family, bucket, keyOf(place)) match {
        case Lookup.Found(record) => Some(record.drop(Record.keyEnd(record)).toSeq)
        case Lookup.Removed       => None
        case other                => fail(s"$place: $other")
      }
      assert(found == content(place), place)
      assert(readers.get(files, family, bucket, keyOf(place) :+ 77) == Lookup.Absent, place)
    }

    def checkAll(): Unit = keys.foreach(check)
  }

  private def small(seed: Int) = Runs.random(new Random(seed.toLong), 3000, 8, maxValue = 200)

  /** In few files, whose indexes and filters have many parts. */
  private def large(seed: Int): Content = {
    val random = new Random(seed.toLong)
    def bytes(count: Int) = Seq.fill(count)(random.nextInt().toByte)
    nothing ++ Seq.fill(40000)(place(0, random.nextInt(2), bytes(24).toArray) -> Some(bytes(60)))
  }

  private def withStores(limits: ReadLimits*)(body: (SharedReads, Seq[Reading]) => Any): Unit =
    withStoresOf(small, limits: _*)(body)

  private def withStoresOf(content: Int => Content, limits: ReadLimits*)(
      body: (SharedReads, Seq[Reading]) => Any
  ): Unit =
    TempFolder.use { folder =>
      val shared = new SharedReads
      val stores = limits.zipWithIndex.map { case (limit, i) =>
        new Reading(folder.resolve(s"$i"), shared, limit, content(i))
      }
      try body(shared, stores)
      finally stores.foreach(_.readers.close())
      stores.foreach(_.room.close())
      assert(stores.forall(_.reads.heapBytes == 0), "all heap was given back")
      assert(shared.openFiles == 0 && LeftOvers.openFiles(folder).isEmpty)
    }

  private val everything = ReadLimits.None

  test("files above the limit are closed, the least recently used first, and opened again") {
    withStores(everything.copy(maxOpenFiles = 5, cacheBytes = 0)) { (shared, stores) =>
      val store = stores.head
      assert(store.run.files.size > 10)
      for (_ <- 1 to 2) {
        store.checkAll()
        assert(shared.openFiles == 5)
      }
      val first = store.keys.head
      val oneOfEach = store.run.files.map { file =>
        store.keys.find(p => file.holds(p._1, p._2)).get
      }
      oneOfEach.foreach { place =>
        store.check(first)
        store.check(place)
        val names = LeftOvers.openFiles(Path.of("/")).map(p => p.drop(p.lastIndexOf('/') + 1))
        val kept = store.run.files.find(_.holds(first._1, first._2)).get.name
        assert(names.isEmpty || names.contains(kept.drop(kept.lastIndexOf('/') + 1)))
      }
    }
  }

  test("the lowest limit of all stores counts, as long as its store is there") {
    val unlimited = everything.copy(cacheBytes = 0)
    withStores(unlimited, unlimited.copy(maxOpenFiles = 4), unlimited) { (shared, stores) =>
      stores.foreach(_.checkAll())
      assert(shared.openFiles == 4)
      stores(1).readers.close()
      stores(2).checkAll()
      assert(shared.openFiles > 10)
    }
  }

  test("a file that a cursor or a look-up holds is not closed") {
    withStores(everything.copy(maxOpenFiles = 2)) { (shared, stores) =>
      val store = stores.head
      val scans = Seq.fill(2)(store.readers.scanAll(Seq(store.run), dropRemovals = false))
      scans.foreach(_.advance())
      val before = shared.openFiles
      store.checkAll()
      assert(before >= store.run.files.size && shared.openFiles == before)
      scans.foreach(_.close())
      assert(shared.openFiles <= 2, "those that were read to the end go first")
      assert(drain(store.readers.scanAll(Seq(store.run), dropRemovals = false)) == store.content)
    }
  }

  test("two stores share one cache: it stays within its bytes, which count once") {
    val bytes = 300_000L
    withStores(everything.copy(cacheBytes = bytes), everything) { (shared, stores) =>
      val random = new Random(1)
      var most = 0L
      for (_ <- 1 to 3000) {
        val store = stores(random.nextInt(2))
        store.check(store.keys(random.nextInt(store.keys.size)))
        val taken = stores.map(_.reads.heapBytes).sum
        assert(taken <= bytes && taken >= shared.cache.partBytes)
        most = math.max(most, taken)
      }
      assert(most > bytes / 5 && stores.forall(_.reads.heapBytes > 0))
      val before = stores.map(_.reads.heapBytes)
      stores.head.readers.retain(Set.empty)
      assert(stores.map(_.reads.heapBytes) == Seq(0L, before(1)), "what was given up leaves")
      stores(1).readers.shed()
      assert(stores(1).reads.heapBytes == 0)
      stores.foreach(_.checkAll())
    }
  }

  test("what was read is read from memory the next time") {
    withStores(everything) { (_, stores) =>
      val store = stores.head
      store.checkAll()
      store.checkAll()
      store.reads.drain()
      store.checkAll()
      val ColdReads(byFilter, fromCache, fromFiles) = store.reads.drain()
      assert(byFilter + fromCache == 2L * store.keys.size && fromFiles == 0)
      assert(fromCache >= store.keys.size && byFilter > store.keys.size * 0.9)
      assert(store.reads.drain() == ColdReads.None)
    }
  }

  test("each look-up is counted once, as what it had to do") {
    withStores(everything.copy(cacheBytes = 200_000), everything) { (_, stores) =>
      stores.foreach { store =>
        store.checkAll()
        assert(store.reads.drain().all == 2L * store.keys.size)
      }
      val none = stores.head
      assert(none.readers.get(none.files, 9, 0, Array(1)) == Lookup.Absent)
      assert(none.reads.drain() == ColdReads(1, 0, 0), "no file has that family")
    }
  }

  for ((name, content) <- Seq("small" -> small _, "large" -> large _))
    test(s"without any heap each look-up reads what it needs, and is right: $name files") {
      withStoresOf(content, everything.copy(cacheBytes = 0)) { (shared, stores) =>
        val store = stores.head
        store.checkAll()
        assert(store.reads.heapBytes == shared.cache.partBytes)
        val ColdReads(byFilter, fromCache, fromFiles) = store.reads.drain()
        assert(byFilter + fromFiles == 2L * store.keys.size && fromCache == 0)
        assert(byFilter <= store.run.files.size, "what is behind all keys of a file")
      }
    }

  /** Bytes of all indexes and filters of one store. */
  private def whole(content: Int => Content): Long = {
    var kept = 0L
    withStoresOf(content, everything) { (shared, stores) =>
      (1 to 2).foreach(_ => stores.head.checkAll())
      kept = shared.cache.partBytes
    }
    kept
  }

  test("parts of indexes and filters that do not all fit stay as far as there is room") {
    val all = whole(large)
    val needed = for (percent <- Seq(0, 20, 50, 80)) yield {
      val limit = all * percent / 100
      var each = 0.0
      withStoresOf(large, everything.copy(cacheBytes = limit)) { (shared, stores) =>
        val store = stores.head
        val random = new Random(percent.toLong)
        def reads(count: Int): Double = {
          val before = shared.handles.reads
          (1 to count).foreach(_ => store.check(store.keys(random.nextInt(store.keys.size))))
          (shared.handles.reads - before).toDouble / count
        }
        reads(1000)
        each = reads(2000)
        assert(shared.cache.partBytes <= limit + all / 20, "there is little in memory besides")
        assert(shared.cache.partBytes >= limit - 2 * 4500, "data blocks have made room")
      }
      each
    }
    // A look-up of a key and one in vain: a part of the filter for each, and for one a part of the index and a block.
    assert(needed.head <= 4.2 && needed.last > 1)
    assert(needed.zip(needed.drop(1)).forall { case (more, fewer) => fewer < more - 0.3 }, needed)
  }

  test("scans go from part to part of an index, from any key on") {
    withStoresOf(large, everything.copy(cacheBytes = 0)) { (_, stores) =>
      val store = stores.head
      val random = new Random(1)
      store.check(store.keys.head)
      for (_ <- 1 to 50) {
        val places = Seq.fill(2)(random.nextInt(store.keys.size)).sorted
        val (from, until) = (store.keys(places.head), store.keys(places.last))
        val bucket = from._2
        val end = if (until._2 == bucket) keyOf(until) else null
        val range = new KeyRange(keyOf(from), end)
        val expected = store.content.range(from, until).filter(_._1._2 == bucket)
        assert(drain(store.readers.range(store.files, 0, bucket, range)) == expected)
      }
      assert(drain(store.readers.scanAll(Seq(store.run), dropRemovals = false)) == store.content)
    }
  }

  test("what is not used any more makes room for what is") {
    val bytes = whole(small) / 2
    withStores(everything.copy(cacheBytes = bytes), everything) { (shared, stores) =>
      val (old, other) = (stores.head, stores(1))
      old.checkAll()
      old.checkAll()
      val before = old.reads.heapBytes
      (1 to 10).foreach(_ => other.checkAll())
      assert(before > 0 && old.reads.heapBytes < before / 4)
      assert(other.reads.heapBytes > bytes / 2 && shared.cache.partBytes <= bytes)
    }
  }

  test("who only reads lowers the limits of nobody who writes") {
    val bytes = whole(small)
    withStores(everything.copy(cacheBytes = bytes), ReadLimits(0L, 1)) { (shared, stores) =>
      val (writer, reader) = (stores.head, stores(1))
      writer.reads.writing()
      Seq(writer, reader, writer).foreach(_.checkAll())
      assert(shared.cache.partBytes > bytes / 2 && shared.openFiles > 1)
      reader.reads.writing()
      assert(shared.cache.partBytes == 0 && shared.openFiles <= 1)
    }
  }

  test("threads that look up beside each other, two handles and a tiny cache, against the model") {
    for (cacheBytes <- Seq(20_000L, 400_000L)) {
      val limits = ReadLimits(cacheBytes, maxOpenFiles = 2)
      withStores(limits, limits) { (shared, stores) =>
        val failure = new AtomicReference[Throwable]
        val looking = (1 to 4).map { n =>
          new Thread(() =>
            try {
              val random = new Random(n.toLong)
              (1 to 5000).iterator.takeWhile(_ => failure.get == null).foreach { i =>
                val store = stores(random.nextInt(2))
                if (i % 1000 == 0) {
                  val all = store.readers.scanAll(Seq(store.run), dropRemovals = false)
                  assert(drain(all) == store.content)
                } else store.check(store.keys(random.nextInt(store.keys.size)))
              }
            } catch { case e: Throwable => failure.compareAndSet(null, e) }
          )
        }
        looking.foreach(_.start())
        for (i <- 1 to 200 if failure.get == null) {
          val store = stores(i % 2)
          if (i % 10 == 0) store.readers.shed()
          store.readers.retain(
            store.run.files.iterator.map(_.name).filter(_.hashCode % 9 != i % 9).toSet
          )
          // Another store comes and goes, and with it the limits.
          Using.resource(shared.join(ReadLimits(cacheBytes / (1 + i % 3), 1 + i % 3)))(_ => ())
        }
        looking.foreach(_.join())
        Option(failure.get).foreach(throw _)
        stores.foreach(_.checkAll())
        assert(stores.map(_.reads.heapBytes).sum <= cacheBytes && shared.openFiles <= 2)
      }
    }
  }
}
