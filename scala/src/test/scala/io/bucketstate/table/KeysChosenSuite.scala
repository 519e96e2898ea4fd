package io.bucketstate.table

import java.nio.{ByteBuffer, ByteOrder}

import scala.jdk.CollectionConverters._

import io.bucketstate.record.{
  BucketAssigner,
  BucketKey,
  FamilySpec,
  Record,
  RecordBuffer,
  Scans,
  TimedValue
}
import io.bucketstate.table.bucket.{Bucket, BucketCompletion, SlotArrays}
import io.bucketstate.table.cold.FoundKeys
import io.bucketstate.table.entry.{Slots, Stamp}
import io.bucketstate.table.index.{Cell, FamilyIndex, OrderedIndex, PrefixIndex}
import io.bucketstate.testkit.{Changes, CollidingKeys, TidySuite}

/** Keys that were chosen to collide make no bucket slow: what probes look at is counted. */
class KeysChosenSuite extends TidySuite {
  import KeysChosenSuite._

  test("keys have the hashes that were asked for") {
    for (start <- Seq("", "8 bytes.", "sixteen bytes...")) {
      val wanted = 0x123456789abcdef0L
      val key = CollidingKeys.withHash(start.getBytes, wanted)
      assert(assigner.hash(key, 0, key.length) == wanted)
    }
  }

  for (isIndexed <- Seq(false, true)) {
    test(s"many keys of one hash, with an index $isIndexed") {
      val work = new Work(isIndexed)
      (0 until Many).foreach(n => work.put(ofHash(n.toLong << 32 | 77L)))
      work.check()
      assert(work.arrays.isKeyed)
    }

    test(s"many keys side by side, of which none is far from where its probe begins: $isIndexed") {
      for (order <- Seq(0 until Many, (0 until Many).reverse)) {
        val work = new Work(isIndexed, expected = Many)
        // As far apart as slots are: only lookups would be slow, and they change nothing.
        val apart = (1L << 32) / work.arrays.capacity + 1
        order.foreach(n => work.put(ofHash(256L + n * apart)))
        (0 until Many).foreach(n => work.look(ofHash((n + 1L) << 32 | 256L)))
        work.check()
      }
    }

    test(s"keys that come to lie side by side when others are gone, with an index $isIndexed") {
      val work = new Work(isIndexed)
      val (few, others) = (Many / 4, Many * 2)
      def other(n: Int) = ofHash(n * 2654435761L & 0xffffffffL)
      (0 until others).foreach(n => work.put(other(n)))
      (0 until few).foreach(n => work.put(ofHash(0x40000000L + n * 130000L)))
      (0 until others).foreach(n => work.remove(other(n)))
      (0 until few).foreach(n => work.look(ofHash((n + 1L) << 32 | 0x40000000L)))
      work.check()
    }
  }

  test("keys that nobody chose stay where they are") {
    val work = new Work(isIndexed = false)
    (0 until 300000).foreach(n => work.put(s"key-$n".getBytes))
    assert(!work.arrays.isKeyed)
  }

  test("what was placed by the other hash is found by all who look, evicted and made whole again") {
    val spec = FamilySpec(Changes.descriptor(0), BucketKey.Whole, Scans.Nothing)
    val work = new Work(isIndexed = false)
    (0 until 100).foreach(n => work.put(ofHash(n.toLong << 32 | 77L), stamp = Stamp.of(n)))
    val before = work.arrays
    work.bucket.evict(floor = 49, number = 1L)
    assert(work.arrays.isKeyed && work.bucket.size == 50)
    (0 until 100).foreach { n =>
      val key = work.key(ofHash(n.toLong << 32 | 77L))
      assert(before.head(key) != null && (work.arrays.head(key) != null) == (n > 49))
    }
    val cold = new Work(isIndexed = false)
    (0 until 40).foreach(n => cold.put(ofHash(n.toLong << 32 | 77L)))
    BucketCompletion.of(work.bucket, cold.bucket, new RecordBuffer(assigner), spec)
    assert(work.bucket.isWhole && work.bucket.size == 90)
    (0 until 100).foreach { n =>
      val found = work.bucket.indexOf(work.key(ofHash(n.toLong << 32 | 77L))) >= 0
      assert(found == (n < 40 || n > 49))
    }
  }

  test("many prefixes of one hash are added, found and removed with few comparisons each") {
    val index = ComparedKeys
      .counting(classOf[PrefixIndex], BucketKey.LengthPrefixed, assigner)
      .asInstanceOf[FamilyIndex]
    val length = ByteBuffer.allocate(4).order(ByteOrder.nativeOrder).putInt(12).array
    val prefixes = (0 until Fewer).map { n =>
      CollidingKeys.withHash(length ++ "pre-".getBytes, n.toLong << 32 | 77L)
    }
    val cells = for {
      prefix <- prefixes
      key <- Seq("a", "b")
    } yield new Cell(Record.of(prefix ++ key.getBytes, Array.emptyByteArray))
    requireFew(cells.size)(cells.foreach(index.add))
    requireFew(prefixes.size) {
      assert(prefixes.forall(prefix => index.prefixed(prefix).asScala.size == 2))
    }
    requireFew(cells.size)(cells.foreach(index.remove))
    assert(index.isEmpty)
  }

  test("many keys of one hash that one version asks for are found with few comparisons each") {
    val keep: Long => Boolean = _ => true
    val found = ComparedKeys.counting(classOf[FoundKeys], Int.box(0), keep)
    val orLearn = found.getClass.getMethod("orLearn", classOf[RecordBuffer], classOf[() => _])
    val orElse = found.getClass.getMethod("orElse", classOf[RecordBuffer], classOf[() => _])
    val keys = (0 until Fewer).map { n =>
      val buffer = new RecordBuffer(assigner)
      buffer.key(ofHash(n.toLong << 32 | 77L), BucketKey.Whole)
      buffer
    }
    requireFew(keys.size) {
      keys.foreach(key => orLearn.invoke(found, key, () => key.toKeyRecord))
    }
    val unasked: () => Array[Byte] = () => fail("what was learnt is not asked for again")
    for (look <- Seq(orLearn, orElse)) requireFew(keys.size) {
      keys.foreach { key =>
        assert(key.sameKey(look.invoke(found, key, unasked).asInstanceOf[Array[Byte]]))
      }
    }
  }
}

private object KeysChosenSuite {
  import org.scalatest.Assertions._

  private final val Many = 30000
  private val assigner = new BucketAssigner(1)

  /** Keys whose comparisons are counted, one by one. */
  private final val Fewer = 4096

  /** A map of keys of one hash is a tree: an operation looks twice at a way down it, and compares twice at each node. */
  private def requireFew(operations: Int)(work: => Unit): Unit = {
    val compared = ComparedKeys.during(work)
    val most = 6L * operations * (Integer.SIZE - Integer.numberOfLeadingZeros(operations))
    assert(compared > 0 && compared <= most, s"$compared comparisons in $operations operations")
  }

  private def ofHash(hash: Long): Array[Byte] = CollidingKeys.withHash(Array.emptyByteArray, hash)

  /** A bucket, and how many hashes and records were looked at in it. */
  private final class Work(isIndexed: Boolean, expected: Int = 0) {
    private val index: () => FamilyIndex = if (isIndexed) () => new OrderedIndex else null
    val bucket: Bucket = new Bucket(index, expected = expected)
    private var calls = 0L
    private var hashes = 0L
    private var records = 0L

    def arrays: SlotArrays = bucket.capture()

    def key(bytes: Array[Byte]): RecordBuffer = {
      val buffer = new RecordBuffer(assigner)
      buffer.key(bytes, BucketKey.Whole)
      buffer
    }

    def put(bytes: Array[Byte], stamp: Int = Stamp.AsCold): Unit = {
      look(bytes)
      val buffer = key(bytes)
      if (bucket.indexOf(buffer) < 0)
        bucket.insert(buffer.hash, buffer.toRecord, TimedValue.Untimed, stamp)
    }

    def remove(bytes: Array[Byte]): Unit = {
      look(bytes)
      bucket.free(bucket.indexOf(key(bytes)))
    }

    /** Counts what a probe for a key comes by. */
    def look(bytes: Array[Byte]): Unit = {
      val a = arrays
      val wanted = key(bytes)
      val hash = a.hashOf(wanted.hash, wanted.toRecord)
      var i = a.firstIndex(hash)
      var isFound = false
      while (!isFound && a.hashes.getPlain(i) != SlotArrays.Empty) {
        hashes += 1
        if (a.hashes.getPlain(i) == hash) {
          records += 1
          isFound = wanted.sameKey(Slots.recordOf(a.content(a.slots.getPlain(i))))
        }
        i = if (i + 1 == a.capacity) 0 else i + 1
      }
      calls += 1
    }

    /** On the average; the first of a crowd are found out by chance, after some hundred. */
    def check(): Unit = {
      assert(records <= 2 * calls, s"$records records in $calls probes")
      assert(hashes <= 400 * calls, s"$hashes hashes in $calls probes")
    }
  }
}
