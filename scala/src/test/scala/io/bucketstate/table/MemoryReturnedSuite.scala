package io.bucketstate.table

import java.lang.ref.WeakReference

import scala.util.Random

import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.record.{BucketAssigner, BucketKey, FamilySpec, RecordBuffer, Scans}
import io.bucketstate.testkit.{Changes, TidySuite}

/** What is removed gives its memory back, and nobody misses anything while it does. */
class MemoryReturnedSuite extends TidySuite with Eventually {
  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(Span(30, Seconds), Span(50, Millis))

  private final class Table(scans: Scans, numBuckets: Int) {
    private val assigner = new BucketAssigner(numBuckets)
    private val bucketKey =
      if (scans == Scans.Prefixes) BucketKey.LengthPrefixed else BucketKey.Whole
    private val buffer = new RecordBuffer(assigner)
    val versioned: VersionedTable = new VersionedTable(assigner, base = 0)
    private val family = versioned.family(FamilySpec(Changes.descriptor(0), bucketKey, scans))

    def version(keepFrom: Long)(write: => Unit): Unit = {
      versioned.begin(keepFrom)
      write
      versioned.openChanges
      versioned.commit()
    }

    private def at(key: Int): RecordBuffer = {
      val bytes = prefix(key) ++ Seq((key >> 8).toByte, key.toByte)
      buffer.key(bytes, bucketKey)
      buffer.valueSpace(20)
      buffer.valueDone(buffer.keyEnd + 20)
      buffer
    }

    /** Eight keys have the same. */
    private def prefix(key: Int): Array[Byte] =
      Array[Byte](2, 0, 0, 0, (key >> 11).toByte, (key >> 3).toByte)

    def put(key: Int): Unit = family.put(at(key))
    def remove(key: Int): Unit = family.remove(at(key))
    def get(key: Int): Array[Byte] = family.get(at(key), versioned.newest)
    def contains(key: Int, version: Long): Boolean = family.contains(at(key), version)

    def prefixed(key: Int): Set[Int] = keysOf(family.prefixed(prefix(key), versioned.newest))

    def keysAt(version: Long): Set[Int] = keysOf(family.records(version))

    private def keysOf(records: Iterator[Array[Byte]]): Set[Int] =
      records.map(r => ((r(7) & 0xff) << 8) | (r(8) & 0xff)).toSet
  }

  test("a prefix does not keep the record of a key that is gone") {
    for (gone <- 0 to 7) {
      val table = new Table(Scans.Prefixes, numBuckets = 2)
      table.version(0)((0 to 7).foreach(table.put))
      val removed = new WeakReference(table.get(gone))
      table.version(1)(table.remove(gone))
      // Enough writes for the removal to settle.
      (100 to 102).foreach(n => table.version(n - 98L)((0 to 9).foreach(k => table.put(n + 8 * k))))
      assert(table.prefixed(0) == (0 to 7).toSet - gone)
      eventually {
        System.gc()
        assert(removed.get == null)
      }
      table.version(5)(table.put(gone))
      assert(table.prefixed(0) == (0 to 7).toSet)
    }
  }

  test("what a version replaced is given back, while somebody still has that version's changes") {
    val table = new Table(Scans.Nothing, numBuckets = 2)
    table.version(0)((0 to 7).foreach(table.put))
    val replaced = new WeakReference(table.get(3))
    table.versioned.begin(1)
    table.put(3)
    val changes = table.versioned.openChanges
    table.versioned.commit()
    // Enough writes for it to settle.
    (2 to 5).foreach(n => table.version(n.toLong)((100 to 140).foreach(table.put)))
    eventually {
      System.gc()
      assert(replaced.get == null)
    }
    var replayed = 0
    changes.families.foreach(_.replay((_, _, _) => replayed += 1))
    assert(replayed == 1)
  }

  for {
    scans <- Seq(Scans.Nothing, Scans.Prefixes, Scans.Ranges)
    aborted <- Seq(false, true)
  }
    test(s"a burst's memory is given back when it has gone, $scans, aborted: $aborted") {
      val random = new Random(1)
      val (few, many) = (0 until 60000 by 300, 0 until 60000)
      val table = new Table(scans, numBuckets = 4)
      table.version(0)(few.foreach(table.put))
      table.version(1)(few.foreach(table.put))
      val before = table.versioned.memoryBytes
      def check(): Unit = Seq(table.versioned.oldest, table.versioned.newest).foreach { version =>
        assert(table.keysAt(version) == few.toSet)
        many.by(7).foreach(k => assert(table.contains(k, version) == (k % 300 == 0)))
      }
      if (aborted) {
        table.versioned.begin(2)
        many.foreach(table.put)
        table.versioned.abort()
        check()
      } else {
        table.version(2)(many.foreach(table.put))
        table.version(3)(random.shuffle(many.filter(_ % 300 != 0)).foreach(table.remove))
        // Enough writes for all of it to settle; there is not one new key among them.
        (0 until 700).foreach(_ => table.version(table.versioned.newest)(few.foreach(table.put)))
        check()
      }
      (0 until 20).foreach(_ => table.version(table.versioned.newest)(few.foreach(table.put)))
      check()
      assert(table.versioned.memoryBytes < before * 2)
    }

  test("random bursts and clearances, each version held against a set") {
    for (seed <- 1 to 10) {
      val random = new Random(seed)
      val table = new Table(Scans.Nothing, numBuckets = 2)
      var models = Map(0L -> Set.empty[Int])
      for (_ <- 1 to 40) {
        val newest = table.versioned.newest
        var model = models(newest)
        table.versioned.begin(newest - random.nextInt(3))
        val from = random.nextInt(3000)
        val keys = from until from + random.nextInt(1500)
        if (random.nextBoolean()) keys.foreach { k => table.put(k); model += k }
        else keys.foreach { k => table.remove(k); model -= k }
        if (random.nextInt(5) == 0) table.versioned.abort()
        else {
          table.versioned.openChanges
          table.versioned.commit()
          models += newest + 1 -> model
        }
        models = models.filter(_._1 >= table.versioned.oldest)
        models.foreach { case (version, keys) => assert(table.keysAt(version) == keys) }
        (0 until 4500 by 3).foreach { k =>
          assert(table.contains(k, newest) == models(newest)(k))
        }
      }
    }
  }
}
