package io.bucketstate.table

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

import io.bucketstate.error.UnavailableException
import io.bucketstate.record.{
  BucketAssigner,
  BucketKey,
  ColdState,
  FamilySpec,
  Record,
  RecordBuffer,
  RecordOp,
  RecordSink,
  Scans,
  TimeBuckets
}
import io.bucketstate.table.cold.BucketLoader
import io.bucketstate.testkit.{Changes, Hanging, TidySuite}

/** A table whose buckets come from a loader, and what it asks of its host meanwhile. */
class LoadingSuite extends TidySuite {
  private val numBuckets = 8
  private val assigner = new BucketAssigner(numBuckets)
  private val keys = (0 until 100).map(n => Seq((n >> 4).toByte, n.toByte))

  private def bucketOf(key: Seq[Byte]): Int =
    assigner.bucket(assigner.hash(key.toArray, 0, key.size))

  /** Every key with an empty value. */
  private class Loader extends BucketLoader {
    val handedOut: ConcurrentLinkedQueue[Int] = new ConcurrentLinkedQueue[Int]
    override def keyCount(family: Int): Option[Long] = Some(keys.size.toLong)
    override def times(family: Int): Option[TimeBuckets] = None
    override def cold: Option[ColdState] = None
    override def changes(family: Int, bucket: Int, sink: RecordSink): Unit = {
      handedOut.add(bucket)
      keys.filter(bucketOf(_) == bucket).foreach { key =>
        sink(Record.of(key.toArray, Array.emptyByteArray), RecordOp.Put)
      }
    }
    override def find(family: Int, key: RecordBuffer): Array[Byte] = key.toKeyRecord
    override def verifyRest(): Unit = ()
    override def heldBytes: Long = 0L
    override def verify(family: Int, found: Long): Unit = assert(found == keys.size)
    override def loaded(family: Int): Unit = ()
  }

  private final class Told extends Exception

  private class Host extends TableHost {
    val used: AtomicInteger = new AtomicInteger
    val parallel: AtomicInteger = new AtomicInteger
    override def failureOf(cause: Throwable): Throwable = new Told().initCause(cause)
    override def inUse(table: StateTable): Unit = {
      used.incrementAndGet()
      ()
    }

    override def hasRoom(bytes: Long): Boolean = true
    override def mayKeep(bytes: Long): Boolean = true
    override def requireRoom(bytes: Long): Unit = ()

    /** From the last to the first, each in a thread of its own. */
    override def ahead(task: Runnable): Unit = new Thread(task).start()

    override def forEach(count: Int)(load: Int => Unit): Unit = {
      parallel.incrementAndGet()
      val failed = new ConcurrentLinkedQueue[Throwable]
      val threads = (count - 1 to 0 by -1).map { number =>
        new Thread(() =>
          try load(number)
          catch {
            case failure: Throwable =>
              failed.add(failure)
              ()
          }
        )
      }
      threads.foreach(_.start())
      threads.foreach(_.join())
      failed.asScala.headOption.foreach(throw _)
    }
  }

  private def tableOf(loader: BucketLoader, host: TableHost) = {
    val spec = FamilySpec(Changes.descriptor(0), BucketKey.Whole, Scans.Ranges)
    val table = StateTables.heap(assigner, 7, Seq(spec), nextFamily = 3, loader, host)
    assert(table.nextFamily == 3)
    table
  }

  private def keysOf(records: Iterator[Array[Byte]]): Seq[Seq[Byte]] =
    records.map(r => r.slice(Record.keyStart(r), Record.keyEnd(r)).toSeq).toSeq

  private def buffer(key: Seq[Byte]): RecordBuffer = {
    val buffer = new RecordBuffer(assigner)
    buffer.key(key.toArray, BucketKey.Whole)
    buffer
  }

  test("the first scan of a range has its host load the family, once, and sees all of it") {
    val (loader, host) = (new Loader, new Host)
    val table = tableOf(loader, host)
    val family = table.families.head
    assert(keysOf(family.ranged(null, null, 7)) == keys)
    assert(keysOf(family.ranged(keys(20).toArray, keys(30).toArray, 7)) == keys.slice(20, 30))
    assert(keysOf(family.prefixed(Array[Byte](1), 7)) == keys.slice(16, 32))
    assert(host.parallel.get == 1)
    assert(loader.handedOut.asScala.toSeq.sorted == (0 until numBuckets))
    assert(host.used.get == 0, "nothing is left to be loaded in the background")
  }

  test("buckets load side by side with a writer that touches them") {
    for (n <- 1 to 50) {
      val (loader, host) = (new Loader, new Host)
      val table = tableOf(loader, host)
      val family = table.families.head
      val reader = new Thread(() => assert(keysOf(family.ranged(null, null, 7)) == keys))
      table.begin(7)
      reader.start()
      keys.take(n).foreach(key => family.remove(buffer(key)))
      reader.join()
      assert(loader.handedOut.asScala.toSeq.sorted == (0 until numBuckets))
      assert(keysOf(family.ranged(null, null, 7)) == keys)
      assert(keysOf(family.ranged(null, null, 8)) == keys.drop(n))
      assert(family.keyCount == Some(keys.size - n))
    }
  }

  test("the host is told of the first use, once") {
    val uses = Seq[StateTable => Any](
      table => table.families.head.get(buffer(keys.head), 7),
      table => table.families.head.recordsOf(2, 7),
      table => {
        table.begin(7)
        table.commit()
      },
      table => {
        table.begin(7)
        table.families.head.put(buffer(keys.head))
      }
    )
    for (use <- uses) {
      val host = new Host
      val table = tableOf(new Loader, host)
      table.families.head.load(0)
      assert(host.used.get == 0, "what is loaded ahead is no use")
      use(table)
      keys.foreach(key => table.families.head.get(buffer(key), 7))
      assert(host.used.get == 1)
    }
  }

  test("a failure is told by the host to who touches, and as it is to who loads ahead") {
    final class Broken extends Exception
    class Breaking extends Loader {
      override def changes(family: Int, bucket: Int, sink: RecordSink): Unit =
        if (bucket == 5) throw new Broken else super.changes(family, bucket, sink)
    }
    val touches = Seq[FamilyState => Any](
      _.ranged(null, null, 7),
      _.records(7).size,
      family => keys.foreach(key => family.contains(buffer(key), 7)),
      family => (1 to 2).foreach(_ => keys.foreach(key => family.get(buffer(key), 7))),
      family => keys.foreach(key => family.remove(buffer(key)))
    )
    for (touch <- touches) {
      val table = tableOf(new Breaking, new Host)
      table.begin(7)
      assert(intercept[Told](touch(table.families.head)).getCause.isInstanceOf[Broken])
      assert(!table.isSound)
      val missing = keys.find(bucketOf(_) == 5).get
      assertThrows[Told](table.families.head.put(buffer(missing)))
    }
    val table = tableOf(new Breaking, new Host)
    assertThrows[Broken](table.families.head.load(5))
    assert(!table.isSound)
    assertThrows[Broken](table.families.head.load(6))
    assertThrows[Told](table.families.head.ranged(null, null, 7))
  }

  test("a bucket that was not available is loaded again, whole and once") {
    class Failing extends Loader {
      val failures: AtomicInteger = new AtomicInteger
      override def changes(family: Int, bucket: Int, sink: RecordSink): Unit = {
        var left = 3
        super.changes(
          family,
          bucket,
          (record, op) => {
            left -= 1
            if (left == 0 && failures.getAndIncrement() < 2) {
              throw new UnavailableException("a file", "it timed out", "Try again.")
            }
            sink(record, op)
          }
        )
      }
    }
    val loader = new Failing
    val table = tableOf(loader, new Host)
    val family = table.families.head
    for (_ <- 1 to 2) assertThrows[UnavailableException](family.load(5))
    assert(table.isSound)
    table.requireVerified()
    assert(keysOf(family.ranged(null, null, 7)) == keys)
    assert(family.records(7).size == keys.size && table.isResident)
  }

  test(
    "a scan that came to a bucket that was not available passes none by when it is asked again"
  ) {
    class Failing extends Loader {
      val failures: AtomicInteger = new AtomicInteger
      override def changes(family: Int, bucket: Int, sink: RecordSink): Unit =
        if (bucket == 5 && failures.getAndIncrement() == 0)
          throw new UnavailableException("a file", "it timed out", "Try again.")
        else super.changes(family, bucket, sink)
    }
    val table = tableOf(new Failing, new Host)
    val scan = table.families.head.records(7)
    for (_ <- 1 to 3)
      assert(intercept[Told](scan.size).getCause.isInstanceOf[UnavailableException])
    scan.close()
    assert(!scan.hasNext)
    assert(table.isSound && table.families.head.records(7).size == keys.size)
  }
  for (
    (name, work) <- Seq[(String, FamilyState => Any)](
      "loads it" -> (_.load(bucketOf(keys.head))),
      "looks for a key of it" -> (family => assert(family.contains(buffer(keys.head), 7)))
    )
  ) test(s"whoever $name while another thread loads a bucket ends when it is interrupted") {
    val hanging = new Hanging
    val table = tableOf(
      new Loader {
        override def changes(family: Int, bucket: Int, sink: RecordSink): Unit = {
          hanging()
          super.changes(family, bucket, sink)
        }
      },
      new Host
    )
    val family = table.families.head
    assert(family.contains(buffer(keys.head), 7), "the first key is looked up")
    assert(hanging.interrupted(work(family)).isInstanceOf[InterruptedException])
    assert(table.isSound && keysOf(family.ranged(null, null, 7)) == keys)
  }

  test("a load that is interrupted while it reads leaves a table that loads again") {
    val interrupts = new AtomicInteger
    val table = tableOf(
      new Loader {
        override def changes(family: Int, bucket: Int, sink: RecordSink): Unit =
          if (interrupts.getAndIncrement() == 0) throw new InterruptedException("killed")
          else super.changes(family, bucket, sink)
      },
      new Host
    )
    assertThrows[InterruptedException](table.families.head.load(5))
    assert(table.isSound)
    assert(keysOf(table.families.head.ranged(null, null, 7)) == keys)
  }
}
