package io.bucketstate

import scala.util.Random

import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{ProviderHarness, ShortMemory, TidySuite}

/**
 * Timers and times to live as the operators of Spark 4.0 and 4.1 find them: by iterating over all keys of a family that scans
 * ranges, up to the first that is not due.
 */
class IterationOrderSuite extends TidySuite {

  private val timesFirst = RangeKeyScanStateEncoderSpec(KeySchema, Seq(0))
  private val times = Seq(Long.MinValue, -256L, -1L) ++ (0L to 300L) ++ Seq(1L << 40, Long.MaxValue)

  private def timesOf(store: ReadStateStore): Seq[Long] = {
    val pairs = store.iterator()
    try pairs.map(pair => keyOf(pair.key)._1).toVector
    finally pairs.close()
  }

  private def put(store: StateStore, times: Iterable[Long]): Unit =
    new Random(7).shuffle(times).foreach(time => store.put(key(time, s"of $time"), value(time, "")))

  for (short <- Seq(false, true)) {
    test(
      s"keys come in the order of their times, before and after a restart, short of memory: $short"
    ) {
      withFolder { folder =>
        ShortMemory.when(short) {
          val harness = new ProviderHarness(folder, timesFirst, families = true)
          val (early, late) = times.partition(_ % 2 == 0)
          val first = harness.provider()
          val store = first.getStore(0)
          put(store, early)
          assert(timesOf(store) == early)
          store.commit()
          first.close()

          val second = harness.provider()
          val next = second.getStore(1)
          assert(timesOf(next) == early)
          put(next, late)
          assert(timesOf(next) == times)
          next.commit()
          val read = second.getReadStore(2)
          assert(timesOf(read) == times)
          ours(read).release()
        }
      }
    }

    test(s"what is due is found while it is removed and more is put in, short of memory: $short") {
      withFolder { folder =>
        ShortMemory.when(short) {
          val harness = new ProviderHarness(folder, timesFirst, families = true)
          val before = harness.provider()
          val store = before.getStore(0)
          put(store, times)
          store.commit()
          before.close()

          val next = harness.provider().getStore(1)
          val due = next.iterator().map(_.key.copy()).takeWhile(keyOf(_)._1 <= 100).map { row =>
            next.remove(row)
            val time = keyOf(row)._1
            put(next, Seq(time.max(0) + 1000))
            time
          }
          assert(due.toSeq == times.takeWhile(_ <= 100))
          assert(timesOf(next) == (times.filter(_ > 100) ++ (1000L to 1100L)).sorted)
          next.abort()
        }
      }
    }
  }
}
