package io.bucketstate.table

import java.util.concurrent.CountDownLatch

import io.bucketstate.record.{
  BucketAssigner,
  BucketKey,
  ColdState,
  Expiry,
  FamilySpec,
  KeyRange,
  RecordBuffer,
  RecordOp,
  RecordSink,
  Scans,
  TimedValue
}
import io.bucketstate.testkit.TextRecords.{keyOf, valueOf}
import io.bucketstate.testkit.{Changes, MapCold, TidySuite}

/** What is newer than the cold part, or is not in it, is not taken for what the cold part has. */
class AboveColdSuite extends TidySuite {
  import AboveColdSuite._

  private def batch(table: VersionedTable)(write: => Unit): Unit = {
    table.begin(table.newest)
    write
    table.openChanges
    table.commit()
  }

  test("what expired above the floor does not come back as the cold part has it") {
    val table = new VersionedTable(assigner, 0L)
    val family = table.family(specOf(Some(Expiry(10L, Some(100L), byProcessingTime = false))))
    val keys = (0 until 200).map("k" + _)
    batch(table)(keys.foreach(k => family.put(timed(k, TimedValue.Never, "without a time"))))
    table.advance(
      new TimedCold(1L, keys.map(k => k -> timed(k, TimedValue.Never, "").toRecord).toMap)
    )
    batch(table)(keys.foreach(k => family.put(timed(k, 1000L, "at 1000"))))
    batch(table) {
      (0 until 50).foreach(n => family.put(timed(s"x$n", 2000L, "x")))
      table.settle()
    }
    batch(table)(family.put(timed("y", 2000L, "y"))) // now the horizon is at 1900
    table.begin(table.newest)
    def found = keys.count(k => family.get(key(k), 5L) != null)
    assert(family.keyCount.contains(51L) && found == 0)
    // As many writes as it takes to sweep all slots.
    (0 until 400).foreach(n => family.put(timed(s"z$n", 2000L, "z")))
    assert(found == 0)
    table.settle()
    family.evict(0)
    assert(found == 0 && family.notWhole == 1)
  }

  test("a late answer of a killed attempt is not taken for one of a higher floor") {
    val table = new VersionedTable(assigner, 0L)
    val family = table.family(specOf(None))
    batch(table)(family.put(record("k", "old")))
    val first = new TimedCold(1L, Map("k" -> record("k", "old").toRecord))
    table.advance(first)
    table.begin(1L)
    table.settle()
    family.evict(0)
    val (isReading, goOn) = (new CountDownLatch(1), new CountDownLatch(1))
    first.before = () =>
      if (Thread.currentThread.getName == "helper") {
        isReading.countDown()
        goOn.await()
      }
    val helper = new Thread(
      () => {
        family.get(key("k"), 2L)
        ()
      },
      "helper"
    )
    helper.start()
    isReading.await()
    table.abort()
    batch(table)(family.put(record("k", "new")))
    table.advance(new TimedCold(2L, Map("k" -> record("k", "new").toRecord)))
    table.begin(2L)
    table.settle()
    family.evict(0)
    goOn.countDown()
    helper.join()
    assert(valueOf(family.get(key("k"), 3L)) == "new")
    table.commit()
    assert(valueOf(family.get(key("k"), 3L)) == "new")
  }

  test("the removal of a key that is neither before nor after the version is no change") {
    val table = new VersionedTable(assigner, 0L)
    val family = table.family(specOf(None))
    batch(table)(family.put(record("k", "1")))
    table.begin(0L)
    family.remove(key("k"))
    table.openChanges
    table.commit()
    table.begin(0L)
    family.put(record("k", "2"))
    family.remove(key("k"))
    var changes = 0
    table.openChanges.families.head.foreach((_, _, _) => changes += 1)
    assert(changes == 0)
  }

  test("what a batch looks up is counted, and kept as far as there is room") {
    val (size, keys) = (100 << 10, 300)
    for (most <- Seq(0L, 10L << 20, Long.MaxValue)) {
      val host = new LimitedHost(most)
      val table = new VersionedTable(assigner, 0L, host = host)
      val family = table.family(specOf(None))
      batch(table)(family.put(record("a", "a")))
      table.advance(new TimedCold(1L, Map.empty) {
        override def keyCount(family: Int): Option[Long] = Some(keys.toLong)
        override def find(family: Int, key: RecordBuffer): Array[Byte] =
          record(keyOf(key.toKeyRecord), "x" * size).toRecord
      })
      table.begin(1L)
      table.settle()
      family.evict(0)
      val before = table.memoryBytes
      (0 until keys).foreach(n => family.get(key(s"b$n"), 2L))
      val counted = table.memoryBytes - before
      val found = math.min(keys.toLong * size, math.max(most, 1L << 20))
      // It asks once for each megabyte.
      assert(counted >= found - 2 * size && counted <= found + (1L << 20) + 3 * size, s"of $most")
      family.put(record("b0", "y"))
      assert(host.changes <= 0L || host.changes >= size)
      table.commit()
    }
  }

  test("what is removed and written again leaves nothing behind once the floor has passed it") {
    val table = new VersionedTable(assigner, 0L)
    val family = table.family(specOf(None))
    val keys = (0 until 100).map("k" + _)
    def cold(model: Seq[String]) = table.advance(
      new MapCold(table.newest, model.map(_ -> "v").toMap, assigner, BucketKey.Whole)
    )
    batch(table)(keys.foreach(k => family.put(record(k, "v"))))
    cold(keys)
    batch(table)(())
    val full = table.memoryBytes
    // No more removals stay than there are keys, however many came and went.
    for (round <- 1 to 50) {
      batch(table)((0 until 100).foreach(n => family.put(record(s"new $round $n", "v"))))
      batch(table)((0 until 100).foreach(n => family.remove(key(s"new $round $n"))))
    }
    batch(table)(())
    table.settle()
    assert(table.memoryBytes < full + 200 * 120)
    batch(table)(keys.foreach(k => family.remove(key(k))))
    batch(table)(())
    table.settle()
    assert(
      family.keyCount.contains(0L) && keys.forall(k => family.get(key(k), table.newest) == null)
    )
    family.evict(0)
    assert(keys.forall(k => family.get(key(k), table.newest) == null))
    cold(Nil)
    batch(table)(())
    batch(table)(())
    table.settle()
    assert(table.memoryBytes < full / 4)
  }
}

private object AboveColdSuite {
  private val assigner = new BucketAssigner(1)

  private def specOf(expiry: Option[Expiry]): FamilySpec =
    FamilySpec(Changes.descriptor(0), BucketKey.Whole, Scans.Nothing, expiry = expiry)

  private def key(name: String): RecordBuffer = {
    val buffer = new RecordBuffer(assigner)
    buffer.key(name.getBytes, BucketKey.Whole)
    buffer
  }

  private def record(name: String, text: String): RecordBuffer = filled(name, text.getBytes)

  private def timed(name: String, start: Long, text: String): RecordBuffer = {
    val value = new Array[Byte](TimedValue.Length + text.length)
    System.arraycopy(text.getBytes, 0, value, TimedValue.put(value, 0, start), text.length)
    filled(name, value)
  }

  private def filled(name: String, value: Array[Byte]): RecordBuffer = {
    val buffer = key(name)
    System.arraycopy(value, 0, buffer.valueSpace(value.length), buffer.keyEnd, value.length)
    buffer.valueDone(buffer.keyEnd + value.length)
    buffer
  }

  /** @param before called when a key was found, before the answer is given */
  private class TimedCold(override val version: Long, items: Map[String, Array[Byte]])
      extends ColdState {
    @volatile var before: () => Unit = () => ()

    override def keyCount(family: Int): Option[Long] = Some(items.size.toLong)
    override def wholeBytes: Long = 100L * items.size

    override def find(family: Int, key: RecordBuffer): Array[Byte] = {
      val found = items.get(keyOf(key.toKeyRecord)).orNull
      before()
      found
    }

    override def mayHold(family: Int, key: RecordBuffer): Boolean = true

    override def scan(family: Int, bucket: Int, sink: RecordSink): Unit =
      items.values.foreach(sink(_, RecordOp.Put))

    override def range(family: Int, bucket: Int, keys: KeyRange, most: Int)(
        sink: Array[Byte] => Unit
    ): Unit = ()

    override def release(): Unit = ()
  }

  private final class LimitedHost(most: Long) extends TableHost {
    var changes = 0L

    override def failureOf(cause: Throwable): Throwable = cause
    override def inUse(table: StateTable): Unit = ()
    override def hasRoom(bytes: Long): Boolean = true
    override def mayKeep(bytes: Long): Boolean = bytes <= most
    override def requireRoom(bytes: Long): Unit = changes = bytes
    override def forEach(count: Int)(load: Int => Unit): Unit = (0 until count).foreach(load)
    override def ahead(task: Runnable): Unit = ()
  }
}
