package io.bucketstate.table.index

import java.nio.ByteBuffer
import java.util.concurrent.atomic.{AtomicBoolean, AtomicReference}
import java.util.concurrent.{CyclicBarrier, FutureTask}

import scala.collection.immutable.TreeMap
import scala.jdk.CollectionConverters._
import scala.util.Random

import io.bucketstate.record.{KeyRange, Record}
import io.bucketstate.table.entry.Slots
import io.bucketstate.testkit.TidySuite

/** Whatever waits and whatever is in order: scans find what a sorted map has. */
class OrderedIndexSuite extends TidySuite {

  private def key(n: Int): Array[Byte] = ByteBuffer.allocate(4).putInt(n).array
  private def cell(n: Int, key: Int => Array[Byte] = key): Cell =
    new Cell(Record.of(key(n), ByteBuffer.allocate(4).putInt(n).array))
  private def number(cell: Cell): Int = {
    val record = Slots.recordOf(cell.content)
    ByteBuffer.wrap(record, Record.keyEnd(record), 4).getInt
  }
  private def scanned(
      index: OrderedIndex,
      from: Option[Int],
      until: Option[Int],
      key: Int => Array[Byte] = key
  ): Seq[Int] =
    index
      .ranged(new KeyRange(from.map(key).orNull, until.map(key).orNull))
      .asScala
      .map(number)
      .toSeq

  private val shapes = Seq[(String, Int => Array[Byte])](
    "of few bytes" -> key,
    "behind many that all have" -> (n => Array.fill(80)(3.toByte) ++ key(n)),
    "at the end of the bytes that are compared" -> (n => Array.fill(62)(3.toByte) ++ key(n)),
    "that begin one another" -> (n => key(n << 4).reverse.dropWhile(_ == 0).reverse),
    "with the highest bits" -> (n => key(n).updated(0, -1.toByte))
  )

  for {
    (shape, key) <- shapes
    seed <- 1 to 20
  }
    test(
      s"scans of keys $shape are those of a sorted map, whatever came, went and was scanned before, seed $seed"
    ) {
      val random = new Random(seed)
      def cell(n: Int) = this.cell(n, key)
      def scanned(index: OrderedIndex, from: Option[Int], until: Option[Int]) =
        this.scanned(index, from, until, key)
      val keys = 1 + random.nextInt(200)
      val scans = 1 + random.nextInt(20) // how seldom
      // Now and then everything is scanned, in some histories.
      val wholeScans = random.nextBoolean()
      val index = new OrderedIndex
      var model = TreeMap.empty[Int, Cell]
      var gone = TreeMap.empty[Int, Cell]
      for (_ <- 1 to 2000) {
        val n = random.nextInt(keys)
        random.nextInt(4) match {
          case 0 | 1 if !model.contains(n) && !gone.contains(n) =>
            val fresh = cell(n)
            index.add(fresh)
            model += n -> fresh
          case 0 | 1 if gone.contains(n) =>
            index.relink(gone(n))
            model += n -> gone(n)
            gone -= n
          case 2 if model.contains(n) =>
            index.remove(model(n))
            model -= n
          case _ =>
        }
        if (random.nextInt(scans) == 0) {
          val until =
            if (wholeScans && random.nextInt(10) == 0) None else Some(random.nextInt(keys + 1))
          val from = Some(random.nextInt(keys)).filter(_ => random.nextBoolean())
          val expected = model.keys.filter(n => from.forall(n >= _) && until.forall(n < _)).toSeq
          assert(scanned(index, from, until) == expected)
          // What a scan found gone is passed over until it is linked again.
          expected.headOption.filter(_ => random.nextInt(5) == 0).foreach { n =>
            index.unlink(model(n), model(n).content)
            gone += n -> model(n)
            model -= n
          }
        }
        assert(index.isEmpty == model.isEmpty)
      }
      assert(scanned(index, None, None) == model.keys.toSeq)
    }

  test("a prefix behind all that was scanned is found") {
    val index = new OrderedIndex
    (0 until 1000).foreach(n => index.add(cell(n)))
    assert(scanned(index, None, Some(10)) == (0 until 10))
    val prefix = key(0x200).take(3)
    assert(index.prefixed(prefix).asScala.map(number).toSeq == (0x200 until 0x300))
    assert(index.prefixed(Array.emptyByteArray).asScala.size == 1000)
  }

  test("an index that holds a key is never empty to a thread beside a scan") {
    for (_ <- 1 to 5000) {
      val index = new OrderedIndex
      index.add(cell(1))
      val begins = new CyclicBarrier(2)
      val scan = new FutureTask[Seq[Int]](() => {
        begins.await()
        scanned(index, None, None)
      })
      new Thread(scan).start()
      begins.await()
      assert(!index.isEmpty)
      assert(scan.get() == Seq(1))
    }
  }

  test("readers find what is there all the time while a writer adds and removes") {
    val index = new OrderedIndex
    val stay = 0 until 2000 by 2
    stay.foreach(n => index.add(cell(n)))
    val done = new AtomicBoolean
    val failure = new AtomicReference[Throwable]
    val readers = (1 to 3).map { seed =>
      val thread = new Thread(() => {
        val random = new Random(seed)
        try
          while (!done.get) {
            val until = random.nextInt(2001)
            val found = scanned(index, None, Some(until)).filter(_ % 2 == 0)
            assert(found == stay.takeWhile(_ < until))
          }
        catch { case e: Throwable => failure.set(e) }
      })
      thread.start()
      thread
    }
    val random = new Random(7)
    var others = Map.empty[Int, Cell]
    for (_ <- 1 to 200000) {
      val n = random.nextInt(1000) * 2 + 1
      others.get(n) match {
        case Some(there) =>
          index.remove(there)
          others -= n
        case None =>
          val fresh = cell(n)
          index.add(fresh)
          others += n -> fresh
      }
    }
    done.set(true)
    readers.foreach(_.join())
    Option(failure.get).foreach(throw _)
    assert(scanned(index, None, None) == (stay ++ others.keys).sorted)
  }
}
