package io.bucketstate.table

import io.bucketstate.record.{
  BucketAssigner,
  BucketKey,
  ColdState,
  Expiry,
  FamilySpec,
  Record,
  RecordBuffer,
  RecordOp,
  RecordSink,
  Scans,
  TimeBuckets
}
import io.bucketstate.table.cold.BucketLoader
import io.bucketstate.testkit.TextRecords._
import io.bucketstate.testkit.{Changes, MapCold, TextRecords, TidySuite}

/** Writes that read nothing, and when the number of keys is known. */
class BlindWritesSuite extends TidySuite {

  private val assigner = new BucketAssigner(1)
  private val ten = (0 until 10).map(n => s"k$n" -> s"old $n").toMap
  private val startOfTime = "\u0002\u0000\u0000\u0000\u0000" // as values with times begin

  // As MapCold has it.
  private val (taken, ruledOut) = (0 until 1000).map(n => s"x$n").partition(_.hashCode % 3 == 0)

  /** A table of version 2, over a cold part of version 1 with ten keys, of which nothing is in memory. */
  private final class Room(
      multiValued: Boolean = false,
      expiry: Option[Expiry] = None,
      countsExactly: Boolean = false
  ) {
    val table: VersionedTable = new VersionedTable(assigner, 0L, countsExactly = countsExactly)
    val family: FamilyState = table.family(
      FamilySpec(Changes.descriptor(0), BucketKey.Whole, Scans.Nothing, multiValued, expiry)
    )

    def put(text: String, value: String): Unit = family.put(record(text, value))
    def record(text: String, value: String): RecordBuffer =
      TextRecords.record(text, value, assigner)
    def remove(text: String): Unit = family.remove(key(text))
    def key(text: String): RecordBuffer = TextRecords.key(text, assigner)
    def at(version: Long): Map[String, String] = pairsOf(family.records(version)).toMap
    def valueAt(version: Long, text: String): Option[String] =
      Option(family.get(key(text), version)).map(valueOf)

    /** @param kept versions that stay readable */
    def version(kept: Int = 0)(write: => Unit): Unit = {
      table.begin(table.newest - kept)
      write
      table.commit()
    }

    def cold(version: Long, content: Map[String, String]): Unit =
      assert(table.advance(new MapCold(version, content, assigner)))

    private val first =
      if (expiry.isEmpty) ten else ten.map { case (k, v) => k -> (startOfTime + v) }
    version()(first.foreach { case (k, v) => put(k, v) })
    cold(1, first)
    version()(())
    table.settle()
    family.evict(0)
    assert(table.memoryBytes < 1000 && family.keyCount == Some(10))
  }

  test("puts and removals read nothing, and older versions have what the cold part has") {
    val room = new Room
    import room._
    version(kept = 3) {
      put("k1", "new")
      put("k1", "newer")
      remove("k2")
      put("k3", "for now")
      remove("k3")
      remove("k4")
      put("k4", "again")
      put(taken.head, "first")
    }
    assert(family.lookUps == 0)
    val now = ten -- Seq("k2", "k3") ++ Seq("k1" -> "newer", "k4" -> "again", taken.head -> "first")
    for (_ <- 1 to 2) {
      assert(at(3) == now && at(2) == ten)
      (ten.keySet ++ now.keySet + "none").foreach { k =>
        assert(valueAt(3, k) == now.get(k) && valueAt(2, k) == ten.get(k), k)
        assert(family.contains(key(k), 3) == now.contains(k))
        assert(family.contains(key(k), 2) == ten.contains(k))
      }
      family.evict(0)
    }
    assert(family.keyCount.isEmpty)
    version(kept = 3)(())
    assert(family.keyCount.isEmpty)
    table.rollBackTo(2)
    assert(at(2) == ten && family.keyCount == Some(10))
  }

  test(
    "a key that was looked up before it is written, or that the cold part rules out, is counted"
  ) {
    val room = new Room
    import room._
    version() {
      assert(family.get(key("k1"), table.newest + 1) != null)
      assert(family.get(key(taken.head), table.newest + 1) == null)
      put("k1", "new")
      remove(taken.head)
      put(ruledOut.head, "first")
      remove(ruledOut(1))
    }
    assert(family.lookUps == 2 && family.keyCount == Some(11))
    assert(at(3) == ten ++ Seq("k1" -> "new", ruledOut.head -> "first"))
  }

  test("an attempt that is given up leaves the count as it was") {
    val room = new Room
    import room._
    table.begin(table.newest)
    taken.take(5).foreach(remove)
    assert(family.keyCount.isEmpty && table.openChanges.families.head.keyCount.isEmpty)
    table.abort()
    assert(family.keyCount == Some(10) && at(2) == ten)
  }

  test("what was written blind settles, leaves memory with its floor, and comes back whole") {
    val room = new Room
    import room._
    version() {
      put("k1", "new")
      remove("k2")
      remove(taken.head)
    }
    val now = ten - "k2" + ("k1" -> "new")
    version()(())
    table.settle()
    val before = table.memoryBytes
    assert(family.evict(0) >= 0 && at(4) == now)
    // Whole: what lies above the floor takes the place of what the cold part has.
    assert(family.fill(0))
    version(kept = 1)(put("k5", "above"))
    assert(table.isResident && at(5) == now + ("k5" -> "above") && at(4) == now)
    assert(family.lookUps == 0 && table.memoryBytes > before)
    cold(4, now)
    version()(())
    table.settle()
    family.evict(0)
    assert(at(6) == now + ("k5" -> "above"))
  }

  test("a bucket becomes whole under versions that are still open to readers, and to be undone") {
    val room = new Room
    import room._
    version(kept = 3) {
      put("k1", "new")
      put(taken.head, "new")
      remove("k2")
      remove(taken(1))
    }
    assert(family.fill(0))
    version(kept = 4)(())
    assert(table.isResident)
    val now = ten - "k2" ++ Seq("k1" -> "new", taken.head -> "new")
    assert(at(4) == now && at(3) == now && at(2) == ten)
    assert(valueAt(2, taken.head).isEmpty && valueAt(2, "k2") == ten.get("k2"))
    val bytes = table.memoryBytes
    table.rollBackTo(2)
    assert(at(2) == ten && family.keyCount == Some(10) && table.memoryBytes < bytes)
    version(kept = 1)(put("k2", "again"))
    table.settle()
    family.evict(0)
    assert(at(3) == ten + ("k2" -> "again") && at(2) == ten)
  }

  test("appending looks up what it appends to, also after a blind write") {
    val room = new Room(multiValued = true)
    import room._
    version() {
      family.merge(record("k1", "+"))
      put("k2", "new")
      family.merge(record("k2", "+"))
      remove("k3")
      family.merge(record("k3", "+"))
    }
    assert(family.lookUps == 1)
    assert(at(3) == ten ++ Seq("k1" -> "old 1+", "k2" -> "new+", "k3" -> "+"))
    assert(family.keyCount.isEmpty)
  }

  test("records with times are looked up all the same") {
    val room = new Room(expiry = Some(Expiry(10L, Some(100L), byProcessingTime = false)))
    import room._
    version() {
      remove("k1")
      put("k2", startOfTime + "new")
    }
    assert(family.lookUps == 2 && family.keyCount == Some(9))
  }

  test("who wants counts looks up each key, once") {
    val room = new Room(countsExactly = true)
    import room._
    version() {
      put("k1", "new")
      put(taken.head, "first")
      put(ruledOut.head, "first")
      remove(ruledOut(1))
      put(taken.head, "again")
    }
    assert(family.lookUps == 4 && family.keyCount == Some(12))
  }

  /** A restart at version 5, its files without a count. */
  private final class Files(hasRoom: Boolean, changed: Map[String, String])
      extends BucketLoader
      with TableHost {
    private val base = new MapCold(4, ten, assigner, isCounted = false)
    override def keyCount(family: Int): Option[Long] = None
    override def times(family: Int): Option[TimeBuckets] = None
    override def cold: Option[ColdState] = Some(base)
    override def changes(family: Int, bucket: Int, sink: RecordSink): Unit =
      changed.foreach { case (k, v) => sink(Record.of(k.getBytes, v.getBytes), RecordOp.Put) }
    override def find(family: Int, key: RecordBuffer): Array[Byte] = base.find(family, key)
    override def verifyRest(): Unit = ()
    override def heldBytes: Long = 0L
    override def verify(family: Int, found: Long): Unit = assert(found == (ten ++ changed).size)
    override def loaded(family: Int): Unit = ()
    override def failureOf(cause: Throwable): Throwable = cause
    override def inUse(table: StateTable): Unit = ()
    override def hasRoom(bytes: Long): Boolean = hasRoom
    override def mayKeep(bytes: Long): Boolean = true
    override def requireRoom(bytes: Long): Unit = ()
    override def ahead(task: Runnable): Unit = ()
    override def forEach(count: Int)(load: Int => Unit): Unit = (0 until count).foreach(load)
  }

  for (hasRoom <- Seq(false, true))
    test(
      s"a restart without a count has all keys, and their number once all are loaded: $hasRoom"
    ) {
      val files = new Files(hasRoom, Map("k1" -> "new", "more" -> ""))
      val table = new VersionedTable(assigner, 5L, files, files)
      val family =
        table.family(FamilySpec(Changes.descriptor(0), BucketKey.Whole, Scans.Nothing))
      assert(family.keyCount.isEmpty)
      table.begin(5L)
      family.remove(TextRecords.key("k2", assigner))
      assert(family.keyCount == Option.when(hasRoom)(10L))
      table.commit()
      assert(
        pairsOf(family.records(6)).toMap == ten - "k2" ++ Seq("k1" -> "new", "more" -> "")
      )
    }
}
