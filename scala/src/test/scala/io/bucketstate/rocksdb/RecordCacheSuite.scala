package io.bucketstate.rocksdb

import java.util.concurrent.atomic.AtomicReference

import scala.collection.mutable
import scala.util.Random

import io.bucketstate.record.BucketAssigner
import io.bucketstate.testkit.{TextRecords, TidySuite}

private object RecordCacheSuite {
  val assigner: BucketAssigner = new BucketAssigner(8)

  /** A state as its database has it, and the epoch at which it was captured. */
  final case class Captured(values: Map[String, String], at: RecordCache.Epoch)

  /**
   * A family of a database beside the cache, which has all of what it holds.
   *
   * @param lengths of values
   */
  final class Part(cache: RecordCache, random: Random, keys: Int, lengths: Range) {
    val number: Int = cache.newPart()
    private var values = Map.empty[String, String]
    private var last = cache.capture()
    val states: mutable.ArrayBuffer[Captured] = mutable.ArrayBuffer(Captured(values, last))

    def write(): Unit = {
      val key = s"key-${random.nextInt(keys)}"
      random.nextInt(10) match {
        case 0 =>
          values -= key
          cache.changed(number, TextRecords.key(key, assigner).toKeyRecord, last)
        case 1 => // appended to, so that the cache does not know it
          values += key -> (values.getOrElse(key, "") + "+").takeRight(90)
          cache.changed(number, TextRecords.record(key, "+", assigner).toRecord, last)
        case _ =>
          val length = lengths(random.nextInt(lengths.size))
          val value = random.alphanumeric.take(length).mkString
          values += key -> value
          cache.written(number, TextRecords.record(key, value, assigner).toRecord, last)
      }
    }

    def capture(kept: Int): Unit = {
      last = cache.capture()
      states += Captured(values, last)
      if (states.size > kept) states.remove(0)
    }
  }

  /**
   * Looks a key up in a state, in the cache and then in what the state holds.
   *
   * @return whether the cache had it
   */
  def read(cache: RecordCache, part: Int, state: Captured, key: String): Boolean = {
    val buffer = TextRecords.key(key, assigner)
    val known = cache.find(part, buffer, state.at)
    val right = state.values.get(key).map(TextRecords.record(key, _, assigner).toRecord)
    if (known != null && !right.exists(java.util.Arrays.equals(_, known))) {
      throw new AssertionError(s"$key of part $part at its state is not what the cache says")
    }
    if (known == null) right.foreach(cache.found(part, buffer, _, state.at))
    known != null
  }
}

class RecordCacheSuite extends TidySuite {
  import RecordCacheSuite._

  private def history(bytes: Long, keys: Int, kept: Int, lengths: Range)(
      seed: Long
  ): (Int, Int) = {
    val random = new Random(seed)
    val cache = new RecordCache(bytes, chunkBytes = 1024)
    val parts = Vector.fill(3)(new Part(cache, random, keys, lengths))
    var (reads, hits) = (0, 0)
    for (_ <- 1 to 12000) {
      val part = parts(random.nextInt(parts.size))
      random.nextInt(40) match {
        case 0           => part.capture(kept)
        case n if n < 16 => part.write()
        case _           =>
          val state = part.states(random.nextInt(part.states.size))
          reads += 1
          if (read(cache, part.number, state, s"key-${random.nextInt(keys)}")) hits += 1
      }
      assert(cache.usedBytes <= bytes)
    }
    (reads, hits)
  }

  test("whatever is written, captured and read in whatever order, what it knows of a key is right") {
    for (seed <- 1L to 12L)
      // Of a ring that holds all, of one that is overwritten again and again, of hardly any, and of one with more records
      // than places for them in its index.
      Seq(
        (1L << 20, 300, 0 until 90),
        (64L << 10, 300, 0 until 90),
        (9L << 10, 40, 0 until 90),
        (9L << 10, 300, 0 until 90),
        (9L << 10, 300, 0 until 2)
      ).foreach { case (bytes, keys, lengths) =>
        withClue(s"seed $seed, $bytes bytes, $keys keys, $lengths: ") {
          val (_, hits) = history(bytes, keys, kept = 4, lengths)(seed)
          assert(hits > 0)
        }
      }
  }

  test("where there is room for all keys, nearly all that was not written since is found") {
    val (reads, hits) = history(1L << 20, 300, kept = 1, 0 until 90)(7L)
    assert(hits > reads / 2, s"of $reads")
  }

  test("a part knows nothing of another one's keys, nor of its own under another number") {
    val cache = new RecordCache(64L << 10, chunkBytes = 1024)
    val (one, other) = (cache.newPart(), cache.newPart())
    val before = cache.capture()
    val record = TextRecords.record("key", "value", assigner)
    cache.written(one, record.toRecord, before)
    val now = cache.capture()
    assert(cache.find(one, record, now).toSeq == record.toRecord.toSeq)
    assert(cache.find(one, record, before) == null, "it was written after that")
    assert(cache.find(other, record, now) == null)
  }

  test("what does not fit is not kept, and hides nothing") {
    val cache = new RecordCache(64L << 10, chunkBytes = 1024)
    val part = cache.newPart()
    val old = cache.capture()
    val small = TextRecords.record("key", "small", assigner)
    val large = TextRecords.record("key", "large" * 100, assigner)
    val longKey = TextRecords.record("key" * 100, "value", assigner)
    cache.written(part, small.toRecord, old)
    val middle = cache.capture()
    Seq(large, longKey).foreach(r => cache.written(part, r.toRecord, middle))
    // Who has read before they were written comes late.
    Seq(small, longKey).foreach(r => cache.found(part, r, r.toRecord, middle))
    val now = cache.capture()
    Seq(large, longKey).foreach(r => assert(cache.find(part, r, now) == null))
  }

  test(
    "what was written and has no place in the index any more is not hidden by who read before that"
  ) {
    for (seed <- 1 to 3000) {
      val cache = new RecordCache(9L << 10, chunkBytes = 1024)
      val part = cache.newPart()
      // So few that the ring alone would let a late reader add what he read, and sometimes too many of them in one set.
      val keys = (0 until 23).map(n => s"${seed * 31 + n}")
      val old = cache.capture()
      keys.foreach(k => cache.written(part, TextRecords.record(k, "new", assigner).toRecord, old))
      val now = cache.capture()
      keys.foreach { k =>
        val before = TextRecords.record(k, "old", assigner)
        cache.found(part, before, before.toRecord, old)
        val known = cache.find(part, before, now)
        assert(known == null || TextRecords.valueOf(known) == "new", k)
      }
    }
  }

  test("its memory is given back when it is closed, and nothing is kept from then on") {
    val cache = new RecordCache(8L << 20)
    val part = cache.newPart()
    val start = cache.capture()
    def write(): Unit = (0 until 20000).foreach { n =>
      cache.written(part, TextRecords.record(s"key-$n", "v" * 100, assigner).toRecord, start)
    }
    write()
    assert(cache.usedBytes > (1L << 20))
    cache.close()
    write()
    assert(cache.usedBytes == 0)
    assert(cache.find(part, TextRecords.key("key-1", assigner), cache.capture()) == null)
    cache.close()
  }

  test("so little memory that it is of no use keeps nothing") {
    val cache = new RecordCache(3000, chunkBytes = 1024)
    val part = cache.newPart()
    val record = TextRecords.record("key", "value", assigner)
    cache.written(part, record.toRecord, cache.capture())
    assert(cache.find(part, record, cache.capture()) == null)
    assert(cache.usedBytes == 0)
  }

  test("several threads read while one writes: each finds what is right of its own state") {
    val cache = new RecordCache(64L << 10, chunkBytes = 1024)
    val part = new Part(cache, new Random(3L), keys = 8, 80 until 81)
    val shown = new AtomicReference(part.states.last) // null at the end
    val failure = new AtomicReference[Throwable]
    val readers = Seq.tabulate(3) { n =>
      new Thread(() =>
        try {
          val random = new Random(n.toLong)
          var state = shown.get
          while (state != null) {
            for (_ <- 1 to 50) read(cache, part.number, state, s"key-${random.nextInt(8)}")
            state = shown.get
          }
        } catch { case e: Throwable => failure.set(e) }
      )
    }
    readers.foreach(_.start())
    for (_ <- 1 to 400) {
      for (_ <- 1 to 100) part.write()
      part.capture(kept = 1)
      shown.set(part.states.last)
    }
    shown.set(null)
    readers.foreach(_.join())
    Option(failure.get).foreach(throw _)
  }
}
