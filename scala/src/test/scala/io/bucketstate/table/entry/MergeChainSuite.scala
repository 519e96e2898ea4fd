package io.bucketstate.table.entry

import java.util.concurrent.atomic.AtomicReference

import io.bucketstate.error.InvalidException
import io.bucketstate.record.{BucketAssigner, BucketKey, FamilySpec, Record, RecordBuffer, Scans}
import io.bucketstate.table.VersionedTable
import io.bucketstate.testkit.{Changes, TidySuite}

/** Keys with several values, read while what lies below the reader's version settles. */
class MergeChainSuite extends TidySuite {

  private final class Table(mostBytes: Int = Record.MaxLength) {
    private val assigner = new BucketAssigner(1)
    private val buffer = new RecordBuffer(assigner)
    private val versioned = new VersionedTable(assigner, base = 0, mostBytes = mostBytes)
    private val family = versioned.family(
      FamilySpec(Changes.descriptor(0), BucketKey.Whole, Scans.Nothing, multiValued = true)
    )

    def newest: Long = versioned.newest

    /** @param keepFrom versions below it can settle from now on */
    def version(keepFrom: Long)(write: => Unit): Unit = {
      versioned.begin(keepFrom)
      write
      versioned.openChanges
      versioned.commit()
    }

    /** Like an attempt whose commit fails. */
    def refused(write: => Unit): InvalidException = {
      versioned.begin(versioned.newest)
      write
      val refusal = intercept[InvalidException](versioned.openChanges)
      versioned.abort()
      refusal
    }

    def put(key: Int, value: Int): Unit = family.put(at(buffer, key, value))

    def merge(key: Int, value: Int): Unit = family.merge(at(buffer, key, value))

    /** Opens a version in which nothing but `write` happens, for each write settles two old entries. */
    def settling(write: => Unit): Unit = {
      versioned.begin(versioned.newest)
      write
      versioned.abort()
    }

    def reader(): Int => Seq[Byte] = {
      val key = new RecordBuffer(assigner)
      val at = newest
      n => {
        key.key(Array(n.toByte), BucketKey.Whole)
        valuesOf(family.get(key, at))
      }
    }

    private def at(buffer: RecordBuffer, key: Int, value: Int): RecordBuffer = {
      buffer.key(Array(key.toByte), BucketKey.Whole)
      buffer.valueSpace(1)(buffer.keyEnd) = value.toByte
      buffer.valueDone(buffer.keyEnd + 1)
      buffer
    }
  }

  test("a list that would become too long is refused before its version is, and stays readable") {
    // A key takes 2 bytes, each value one.
    val table = new Table(mostBytes = 12)
    table.version(keepFrom = 0)((1 to 4).foreach(table.merge(1, _)))
    for (n <- 5 to 10) {
      // Settled some of them, some not, appended in one version and in several.
      table.version(keepFrom = table.newest - n % 3)(table.merge(1, n))
      table.version(keepFrom = table.newest)(table.merge(2, n))
    }
    val failure = table.refused {
      table.merge(2, 11)
      table.merge(1, 11)
    }
    assert(
      failure.getMessage.contains(
        "column family 'default' and its values take 13 bytes, at most 12"
      )
    )
    assert(table.reader()(1) == (1 to 10) && table.reader()(2) == (5 to 10))
    table.refused((1 to 11).foreach(table.merge(3, _)))
    table.refused {
      table.put(3, 0)
      (1 to 10).foreach(table.merge(3, _))
    }
    table.version(keepFrom = table.newest) {
      table.put(1, 0)
      (1 to 9).foreach(table.merge(1, _))
    }
    assert(table.reader()(1) == (0 to 9))
  }

  private def valuesOf(record: Array[Byte]): Seq[Byte] = record.drop(Record.keyEnd(record)).toSeq

  test("values that a put replaced never come back for readers beside a writer that settles them") {
    val round = new AtomicReference[(Int => Seq[Byte], Seq[Byte])]
    @volatile var stop = false
    @volatile var wrong = Option.empty[String]
    @volatile var reads = 0L // the reader's own
    val reader = new Thread(() =>
      while (!stop) {
        val now = round.get
        if (now != null) {
          val found = now._1(0)
          reads += 1
          if (found != now._2) wrong = Some(s"$found instead of ${now._2}")
        }
      }
    )
    reader.start()
    try
      for (n <- 1 to 400 if wrong.isEmpty) {
        val table = new Table
        val merges = 1 + n % 100
        table.version(0)(table.put(0, 1)) // replaced, and yet in nobody's way until it settles
        table.version(0)(table.put(0, 2))
        (1 to merges).foreach(m => table.version(0)(table.merge(0, m)))
        round.set(table.reader() -> (2 +: (1 to merges)).map(_.toByte))
        val before = reads
        while (reads < before + 3) Thread.onSpinWait()
        table.settling((10 to 100).foreach(table.put(_, 0)))
      }
    finally {
      stop = true
      reader.join()
    }
    assert(wrong.isEmpty)
  }

  test("a chain is walked once: nothing comes back that settles between two steps") {
    val bytes = Array(1, 2, 3).map(value => Record.of(Array[Byte](0), Array(value.toByte)))
    def entry(version: Int, merge: Boolean, older: AnyRef) =
      new Entry(0, 0, version, bytes(version - 1), ofRemoval = false, ofMerge = merge, older)
    // Whichever step the writer comes before, and however far it has settled by then.
    for {
      before <- 0 to 2
      settled <- 0 to 2
    } {
      val replaced = entry(1, merge = false, null)
      val put = entry(2, merge = false, replaced)
      val merge = entry(3, merge = true, put)
      val parts = new MergeChain.Parts(merge)
      val first = Seq.fill(before)(valuesOf(parts.next()))
      if (settled >= 1) put.older = replaced.bytes
      if (settled >= 2) merge.older = put.bytes
      assert(first ++ parts.map(valuesOf) == Seq(Seq[Byte](3), Seq[Byte](2)))
    }
  }
}
