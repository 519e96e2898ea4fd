package io.bucketstate.table

import scala.util.Try

import io.bucketstate.record.{BucketAssigner, BucketKey, FamilySpec, Scans}
import io.bucketstate.testkit.TextRecords.{record, valueOf}
import io.bucketstate.testkit.{Changes, MapCold, TextRecords, TidySuite}

/** A change that was left half-way, as by memory that ran out, is never taken for one that was made or undone. */
class BrokenTableSuite extends TidySuite {
  private val assigner = new BucketAssigner(2)
  private val spec = FamilySpec(Changes.descriptor(0), BucketKey.Whole, Scans.Nothing)

  private final class Table {
    var failing = false
    val table: VersionedTable = new VersionedTable(assigner, 0L)
    val family: FamilyState = table.family(spec)

    def put(key: String, value: String): Unit =
      family.put(record(key, value, assigner, BucketKey.Whole))

    def get(key: String, at: Long): Option[String] =
      Option(family.get(TextRecords.key(key, assigner, BucketKey.Whole), at)).map(valueOf)

    /** Something beside its writes fails, as settling or an eviction could for want of memory. */
    def failBesideWrites(): Unit = {
      val due = family.residences.toIndexedSeq
      table.evictLater(due, Long.MaxValue)(_ => if (failing) throw new Error("a test"))
      failing = true
    }
  }

  private def withCold(body: Table => Unit): Unit = {
    val it = new Table
    it.table.begin(0L)
    (0 until 10).foreach(n => it.put(s"k$n", "one"))
    it.table.openChanges
    it.table.commit()
    it.table.advance(
      new MapCold(1L, (0 until 10).map(n => s"k$n" -> "one").toMap, assigner)
    )
    it.table.begin(1L)
    it.table.settle()
    body(it)
  }

  test("after a write that failed half-way no version is opened, and readers are told") {
    withCold { it =>
      it.failBesideWrites()
      assertThrows[Error]((0 until 100).foreach(n => it.put(s"new $n", "x" * 2000)))
      assert(!it.table.isSound)
      it.table.abort()
      assert(!it.table.isOpen && !it.table.isSound)
      assertThrows[Error](it.table.begin(1L))
      // Who reads is told, or told right.
      (0 until 10).foreach(n => Try(it.get(s"k$n", 1L)).foreach(one => assert(one.contains("one"))))
    }
  }
}
