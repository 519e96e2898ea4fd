package io.bucketstate.table

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable
import scala.util.Random

import io.bucketstate.record.{
  BucketAssigner,
  BucketKey,
  FamilySpec,
  Record,
  RecordBuffer,
  RecordOp,
  Scans
}
import io.bucketstate.testkit.{Changes, TidySuite}

/** The table against a map per version: random writes, aborts, roll-backs, reads at every version kept. */
class VersionedTableSuite extends TidySuite {

  private type Model = Map[String, String]

  private val PrefixLength = "key-0".length

  for {
    buckets <- Seq(1, 4, 64)
    scans <- Seq(Scans.Nothing, Scans.Prefixes, Scans.Ranges)
    seed <- 1 to 3
  }
    test(s"random histories: $buckets buckets, scans of $scans, seed $seed") {
      new History(buckets, scans, new Random(seed.toLong)).run(6000)
    }

  private final class History(numBuckets: Int, scans: Scans, random: Random) {
    private val assigner = new BucketAssigner(numBuckets)
    private val base = 5L
    private val table = new VersionedTable(assigner, base)
    // Where prefixes are looked up, a key has the length of its prefix in front.
    private val grouped = scans == Scans.Prefixes
    private val bucketKey = if (grouped) BucketKey.LengthPrefixed else BucketKey.Whole
    private val spec = FamilySpec(Changes.descriptor(0), bucketKey, scans)
    private val family = table.family(spec)
    private val buffer = new RecordBuffer(assigner)
    private val models = mutable.Map[Long, Model](base -> Map.empty)
    private var open: Option[Model] = None

    def run(steps: Int): Unit = {
      for (_ <- 1 to steps) step()
      (table.oldest to table.newest).foreach(checkAll)
    }

    private def step(): Unit = {
      if (open.isEmpty) begin()
      random.nextInt(100) match {
        case n if n < 50 => write(someKey(), "v" + random.nextInt(1000))
        case n if n < 70 => remove(someKey())
        case n if n < 85 => look()
        case n if n < 94 => commit()
        case n if n < 96 => abort()
        case n if n < 98 => rollBack()
        case _           => checkAll(table.oldest + random.nextInt(kept))
      }
    }

    private def kept: Int = (table.newest - table.oldest).toInt + 1

    private def someKey(): String = "key-" + random.nextInt(300)

    private def encoded(key: String): Array[Byte] = {
      val bytes = key.getBytes(UTF_8)
      if (grouped) Array[Byte](PrefixLength.toByte, 0, 0, 0) ++ bytes else bytes
    }

    private def find(key: String): Unit = {
      val bytes = encoded(key)
      System.arraycopy(
        bytes,
        0,
        buffer.keySpace(bytes.length),
        RecordBuffer.KeyOffset,
        bytes.length
      )
      buffer.keyDone(RecordBuffer.KeyOffset + bytes.length, bucketKey)
    }

    private def begin(): Unit = {
      table.begin(table.newest - random.nextInt(4))
      models.keys.filter(_ < table.oldest).foreach(models.remove)
      open = Some(models(table.newest))
    }

    private def write(key: String, value: String): Unit = {
      find(key)
      val bytes = value.getBytes(UTF_8)
      System.arraycopy(bytes, 0, buffer.valueSpace(bytes.length), buffer.keyEnd, bytes.length)
      buffer.valueDone(buffer.keyEnd + bytes.length)
      family.put(buffer)
      open = open.map(_ + (key -> value))
    }

    private def remove(key: String): Unit = {
      find(key)
      family.remove(buffer)
      open = open.map(_ - key)
    }

    private def look(): Unit = {
      val key = someKey()
      find(key)
      assert(Option(family.get(buffer, table.newest + 1)).map(valueOf) == open.get.get(key))
      val at = table.oldest + random.nextInt(kept)
      assert(Option(family.get(buffer, at)).map(valueOf) == models(at).get(key))
    }

    private def commit(): Unit = {
      assert(family.keyCount == Some(open.get.size))
      val changes = table.openChanges.families.head
      val visible = mutable.ArrayBuffer.empty[String]
      val buckets = mutable.ArrayBuffer.empty[Int]
      changes.foreach { (bucket, op, record) =>
        val key = keyOf(record)
        find(key)
        assert(bucket == buffer.bucket)
        assert(open.get.get(key) == Option.when(op != RecordOp.Remove)(valueOf(record)))
        visible += key
        buckets += bucket
      }
      assert(visible.distinct.length == visible.length, "one write per key")
      assert(buckets == buckets.sorted, "by bucket")
      val before = models(table.newest)
      val differing =
        (before.keySet ++ open.get.keySet).filter(k => before.get(k) != open.get.get(k))
      assert(differing.subsetOf(visible.toSet), "every difference is in the change set")
      table.commit()
      models(table.newest) = open.get
      open = None
    }

    private def abort(): Unit = {
      table.abort()
      open = None
      assert(family.keyCount == Some(models(table.newest).size))
    }

    private def rollBack(): Unit = {
      abort()
      table.rollBackTo(table.oldest + random.nextInt(kept))
      models.keys.filter(_ > table.newest).foreach(models.remove)
      assert(family.keyCount == Some(models(table.newest).size))
    }

    private def checkAll(version: Long): Unit = {
      val found = family.records(version).map(r => keyOf(r) -> valueOf(r)).toSeq
      assert(found.toMap == models(version) && found.size == models(version).size)
      if (scans != Scans.Nothing) {
        val prefix = "key-" + random.nextInt(10)
        val scanned = family.prefixed(encoded(prefix), version).map(keyOf).toSeq
        val expected = models(version).keys.filter(_.startsWith(prefix)).toSeq.sorted
        assert((if (grouped) scanned.sorted else scanned) == expected)
      }
    }

    private def keyOf(record: Array[Byte]): String = {
      val start = Record.keyStart(record) + (if (grouped) 4 else 0)
      new String(record.slice(start, Record.keyEnd(record)), UTF_8)
    }

    private def valueOf(record: Array[Byte]): String =
      new String(record.drop(Record.keyEnd(record)), UTF_8)
  }

  for (scans <- Seq(Scans.Nothing, Scans.Prefixes, Scans.Ranges))
    test(s"a reader in another thread sees its version whole while the writer goes on, $scans") {
      val assigner = new BucketAssigner(4)
      val table = new VersionedTable(assigner, 0L)
      val bucketKey = if (scans == Scans.Prefixes) BucketKey.LengthPrefixed else BucketKey.Whole
      val family = table.family(FamilySpec(Changes.descriptor(0), bucketKey, scans))
      val buffer = new RecordBuffer(assigner)
      def prefix(high: Int): Array[Byte] = Array[Byte](1, 0, 0, 0, high.toByte)
      def put(key: Int, value: Int): Unit = {
        buffer.key(prefix(key >> 8) :+ key.toByte, bucketKey)
        val room = buffer.valueSpace(1)
        room(buffer.keyEnd) = value.toByte
        buffer.valueDone(buffer.keyEnd + 1)
        family.put(buffer)
      }
      def remove(key: Int): Unit = {
        buffer.key(prefix(key >> 8) :+ key.toByte, bucketKey)
        family.remove(buffer)
      }
      def scanned: Iterator[Array[Byte]] = scans match {
        case Scans.Nothing  => family.records(1L)
        case Scans.Prefixes => (0 to 1).iterator.flatMap(high => family.prefixed(prefix(high), 1L))
        case Scans.Ranges   => family.ranged(null, null, 1L)
      }
      table.begin(0L)
      (0 until 500).foreach(put(_, 1))
      table.commit()
      @volatile var stop = false
      @volatile var wrong: Option[String] = None
      val reader = new Thread(() =>
        while (!stop) {
          val seen = scanned.map(r => r(r.length - 1).toInt).toSeq
          if (seen != Seq.fill(500)(1)) wrong = Some(s"${seen.size} records, ${seen.distinct}")
        }
      )
      reader.start()
      // Version 1 stays readable; the writer changes, removes, adds (so buckets are rebuilt) above it.
      for (round <- 2 to 60) {
        table.begin(1L)
        (0 until 500).foreach(put(_, round))
        (500 until 500 + round * 40).foreach(put(_, round))
        (round until 500 by 7).foreach(remove)
        if (round % 5 == 0) table.abort() else table.commit()
      }
      stop = true
      reader.join()
      assert(wrong.isEmpty)
    }

  test("memory is given back when versions settle, and counted the same as after a fresh load") {
    val assigner = new BucketAssigner(8)
    val table = new VersionedTable(assigner, 0L)
    val family = table.family(FamilySpec(Changes.descriptor(0), BucketKey.Whole, Scans.Nothing))
    val buffer = new RecordBuffer(assigner)
    def put(key: Int): Unit = {
      val space = buffer.keySpace(4)
      space(RecordBuffer.KeyOffset) = key.toByte
      buffer.keyDone(RecordBuffer.KeyOffset + 1, BucketKey.Whole)
      buffer.valueSpace(100)
      buffer.valueDone(buffer.keyEnd + 100)
      family.put(buffer)
    }
    def round(): Long = {
      table.begin(table.newest)
      (0 until 100).foreach(put)
      table.commit()
      table.memoryBytes
    }
    val sizes = (1 to 50).map(_ => round())
    assert(sizes.drop(5).distinct.size == 1, s"memory grows without keys: $sizes")
  }
}
