package io.bucketstate.table

import scala.collection.immutable.TreeMap
import scala.collection.mutable
import scala.util.Random

import io.bucketstate.record.{
  BucketAssigner,
  BucketKey,
  ChangeSet,
  FamilySpec,
  Record,
  RecordBuffer,
  RecordOp,
  Scans
}
import io.bucketstate.testkit.{Changes, TidySuite}

/**
 * Families with lists of values, in order, over random histories of batches, aborts and roll-backs: every
 * version that can be read is held against a sorted map.
 */
class ListsAndRangesSuite extends TidySuite {
  private type Model = TreeMap[Seq[Byte], Seq[Byte]]

  private implicit val bytes: Ordering[Seq[Byte]] = (a, b) =>
    java.util.Arrays.compareUnsigned(a.toArray, b.toArray)

  private final class Table(bucketKey: BucketKey, numBuckets: Int = 5) {
    private val assigner = new BucketAssigner(numBuckets)
    private val spec =
      FamilySpec(Changes.descriptor(0), bucketKey, Scans.Ranges, multiValued = true)
    private val buffer = new RecordBuffer(assigner)
    val versioned: VersionedTable = new VersionedTable(assigner, base = 10)
    val family: FamilyState = versioned.family(spec)

    private def at(key: Seq[Byte], value: Seq[Byte]): RecordBuffer = {
      buffer.key(key.toArray, bucketKey)
      val space = buffer.valueSpace(value.size)
      value.copyToArray(space, buffer.keyEnd)
      buffer.valueDone(buffer.keyEnd + value.size)
      buffer
    }

    def put(key: Seq[Byte], value: Seq[Byte]): Unit = family.put(at(key, value))
    def merge(key: Seq[Byte], value: Seq[Byte]): Unit = family.merge(at(key, value))
    def remove(key: Seq[Byte]): Unit = family.remove(at(key, Nil))
    def contains(key: Seq[Byte], version: Long): Boolean = family.contains(at(key, Nil), version)
    def get(key: Seq[Byte], version: Long): Option[Seq[Byte]] =
      Option(family.get(at(key, Nil), version)).map(valueOf)

    def check(model: Model, version: Long, random: Random): Unit = {
      def pairs(records: Iterator[Array[Byte]]) = records.map(r => keyOf(r) -> valueOf(r)).toSeq
      assert(pairs(family.records(version)).toMap == model)
      keys.foreach { key =>
        assert(get(key, version) == model.get(key), s"key $key at $version")
        assert(contains(key, version) == model.contains(key))
      }
      val bounds = Seq.fill(2)(Option.when(random.nextInt(4) > 0)(keys(random.nextInt(keys.size))))
      val expected = model.filter { case (key, _) =>
        bounds.head.forall(bytes.lteq(_, key)) && bounds.last.forall(bytes.lt(key, _))
      }
      val found =
        family.ranged(bounds.head.map(_.toArray).orNull, bounds.last.map(_.toArray).orNull, version)
      assert(pairs(found) == expected.toSeq, s"between $bounds at $version")
      val scanned = if (bucketKey == BucketKey.Whole) prefixes else apart
      val prefix = scanned(random.nextInt(scanned.size))
      assert(
        pairs(family.prefixed(prefix.toArray, version)) ==
          model.filter(_._1.startsWith(prefix)).toSeq
      )
    }
  }

  private def keyOf(record: Array[Byte]) =
    record.slice(Record.keyStart(record), Record.keyEnd(record)).toSeq

  private def valueOf(record: Array[Byte]) = record.drop(Record.keyEnd(record)).toSeq

  /** Of the layout of Spark's timestamp-postfix keys: some bytes, then eight. */
  private val prefixes: Seq[Seq[Byte]] =
    Seq(Seq[Byte](), Seq[Byte](1), Seq[Byte](-1), Seq[Byte](-1, -1), Seq[Byte](2, 0))

  /** Those that no other starts with, as it is with what decides a bucket. */
  private val apart: Seq[Seq[Byte]] = Seq(Seq[Byte](1), Seq[Byte](2, 0))

  private val keys: Seq[Seq[Byte]] = for {
    prefix <- prefixes
    time <- Seq(0, 1, 127, 128, 255)
  } yield prefix ++ Seq.fill[Byte](7)(0) :+ time.toByte

  for {
    bucketKey <- Seq(BucketKey.BeforeTimestamp, BucketKey.Whole)
    seed <- 1 to 25
  } test(s"every readable version is what the model says, ${bucketKey.name}, seed $seed") {
    val random = new Random(seed.toLong)
    val table = new Table(bucketKey)
    var models = TreeMap[Long, Model](10L -> TreeMap.empty[Seq[Byte], Seq[Byte]])
    for (_ <- 1 to 40) {
      val newest = models.lastKey
      val kept = math.max(models.firstKey, newest - random.nextInt(4))
      table.versioned.begin(kept)
      models = models.rangeFrom(kept)
      var model = models(newest)
      for (_ <- 1 to random.nextInt(40)) {
        val key = keys(random.nextInt(keys.size))
        val value = Seq.fill(random.nextInt(6))(random.nextInt().toByte)
        random.nextInt(12) match {
          case 0 | 1 | 2 =>
            table.put(key, value)
            model += key -> value
          case 3 | 4 =>
            table.remove(key)
            model -= key
          case 5 =>
            val until = keys(random.nextInt(keys.size))
            table.family.removeRange(key.toArray, until.toArray)
            model = model.filterNot { case (k, _) => bytes.lteq(key, k) && bytes.lt(k, until) }
          case _ =>
            table.merge(key, value)
            model += key -> (model.getOrElse(key, Nil) ++ value)
        }
      }
      table.check(model, newest + 1, random)
      models.foreach { case (version, old) => table.check(old, version, random) }
      assert(table.family.keyCount == Some(model.size))
      if (random.nextInt(4) == 0) table.versioned.abort()
      else {
        val written = changed(table.versioned.openChanges)
        assert(applied(models(newest), written) == model, "the change set leads to the version")
        table.versioned.commit()
        models += newest + 1 -> model
      }
      if (random.nextInt(5) == 0) {
        val back = models.keys.toSeq(random.nextInt(models.size))
        table.versioned.rollBackTo(back)
        models = models.rangeTo(back)
      }
      models.foreach { case (version, old) => table.check(old, version, random) }
    }
  }

  private def changed(changes: ChangeSet): Seq[(Byte, Array[Byte])] = {
    val written = mutable.ArrayBuffer.empty[(Byte, Array[Byte])]
    changes.families.head.foreach((_, op, record) => written += op -> record)
    assert(written.map(w => keyOf(w._2)).distinct.size == written.size, "each key once")
    written.toSeq
  }

  private def applied(model: Model, written: Seq[(Byte, Array[Byte])]): Model =
    written.foldLeft(model) { case (state, (op, record)) =>
      val key = keyOf(record)
      op match {
        case RecordOp.Put    => state + (key -> valueOf(record))
        case RecordOp.Remove => state - key
        case _               => state + (key -> (state(key) ++ valueOf(record)))
      }
    }

  test("appending costs what is appended, and what a batch appended is one short record") {
    val table = new Table(BucketKey.BeforeTimestamp)
    val key = keys.head
    var expected = Seq.empty[Byte]
    for (batch <- 1 to 300) {
      table.versioned.begin(10L + batch - 1)
      val appended = Seq(batch.toByte, (batch >> 8).toByte)
      table.merge(key, appended.take(1))
      table.merge(key, appended.drop(1))
      expected ++= appended
      val (op, record) = changed(table.versioned.openChanges).head
      assert(valueOf(record) == appended)
      assert(op == (if (batch == 1) RecordOp.Put else RecordOp.Merge))
      table.versioned.commit()
    }
    assert(table.get(key, 310).contains(expected))
    // With a copy of all values per batch it would be 300 * 300 bytes and more.
    assert(table.versioned.memoryBytes < 20000, "the settled values stay together")
  }

  test("a scan by the writer does not come by the same dead keys again and again") {
    val table = new Table(BucketKey.Whole, numBuckets = 64)
    def key(n: Int): Seq[Byte] = Seq((n >> 16).toByte, (n >> 8).toByte, n.toByte)
    val count = 50000
    table.versioned.begin(10)
    (0 until count).foreach(n => table.put(key(n), Seq(1)))
    table.versioned.commit()
    table.versioned.begin(11)
    table.family.removeRange(null, null)
    table.put(key(count), Seq(1))
    table.versioned.commit()
    table.versioned.begin(12)
    assert(table.family.ranged(null, null, 13).size == 1)
    table.versioned.commit()
    val before = table.versioned.memoryBytes
    table.versioned.begin(13)
    (0 until 10).foreach(n => table.put(key(n), Seq(2)))
    assert(
      table.family.ranged(null, null, 14).map(r => keyOf(r)).toSeq ==
        ((0 until 10) :+ count).map(key)
    )
    table.versioned.abort()
    assert(table.family.ranged(null, null, 13).size == 1)
    assert(table.versioned.memoryBytes <= before)
  }
}
