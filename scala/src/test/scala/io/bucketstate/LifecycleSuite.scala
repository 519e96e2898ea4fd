package io.bucketstate

import java.nio.file.Path
import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.spark.TaskContext
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.execution.streaming.state.{
  StateStore,
  StateStoreId,
  StateStoreProviderId
}
import org.apache.spark.sql.streaming.{GroupState, GroupStateTimeout, OutputMode, StreamingQuery}
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.testkit.{DigitCounts, LateTask, LeftOvers, TidySuite}

/** Real queries in a real session: how Spark loads and unloads providers, kills tasks, and what is left. */
class LifecycleSuite extends TidySuite with DigitCounts with Eventually {
  import LifecycleSuite._

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(100, Millis))

  test("two queries in one session, stopped and started again, leave nothing behind") {
    val before = LeftOvers.openRuns
    withSession() { (spark, folder) =>
      import spark.implicits._
      val inputs = Seq("one", "two").map(_ -> memoryStream[Int](spark))
      for (round <- 0 until 3) {
        val queries = inputs.map { case (name, input) => start(counts(input.toDS()), name, folder) }
        for {
          batch <- 0 until 4
          ((_, input), query) <- inputs.zip(queries)
        } {
          val first = (round * 4 + batch) * 10
          addAndWait(input, query, first until first + 10)
        }
        eventually(assert(hasSnapshots(folder), "no snapshot was made"))
        inputs.foreach { case (name, _) =>
          assert(found(spark, name) == expected((round + 1) * 40))
        }
        queries.foreach(_.stop())
      }
      // Spark unloads the providers of stopped queries in maintenance.
      eventually {
        assert(LeftOvers.openRuns == before)
        assert(LeftOvers.openFiles(folder) == Nil)
        assert(LeftOvers.workFolders == Nil)
      }
    }
    eventually(assert(LeftOvers.threads == Nil))
  }

  test("a session that is stopped under a running query leaves nothing behind") {
    val before = LeftOvers.openRuns
    var checkpoint: Path = null
    withSession() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(counts(input.toDS()), "running", folder)
      for (batch <- 0 until 6) addAndWait(input, query, batch * 10 until batch * 10 + 10)
      eventually(assert(hasSnapshots(folder), "no snapshot was made"))
      assert(LeftOvers.workFolders.nonEmpty)
      checkpoint = folder
    }
    eventually {
      assert(LeftOvers.openRuns == before)
      assert(LeftOvers.workFolders == Nil)
      assert(LeftOvers.openFiles(checkpoint) == Nil)
      assert(LeftOvers.threads == Nil)
    }
  }

  test("attempts that fail in the middle leave nothing in the state") {
    withSession() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val sums = input
        .toDS()
        .groupByKey(_ % 5)
        .flatMapGroupsWithState[Long, (Int, Long)](OutputMode.Update, GroupStateTimeout.NoTimeout) {
          (digit: Int, values: Iterator[Int], state: GroupState[Long]) =>
            val sum = state.getOption.getOrElse(0L) + values.map(_.toLong).sum
            state.update(sum)
            // After the state was changed, in every other batch, twice.
            if (sum % 2 == 0 && TaskContext.get().attemptNumber() < 2) {
              throw new IllegalStateException(s"attempt ${TaskContext.get().attemptNumber()} fails")
            }
            Iterator((digit, sum))
        }
      val query = start(sums.toDF(), "sums", folder, "update")
      for (batch <- 0 until 5) addAndWait(input, query, batch * 10 until batch * 10 + 10)
      val latest = spark.table("sums").as[(Int, Long)].collect().groupMapReduce(_._1)(_._2)(_ max _)
      assert(latest == (0 until 50).groupMapReduce(_ % 5)(_.toLong)(_ + _))
      assert(query.recentProgress.flatMap(_.stateOperators).last.numRowsTotal == 5)
      query.stop()
    }
  }

  test("a query that is stopped while a task holds its store goes on from the checkpoint") {
    withSession() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      def summed: DataFrame = counts(input.toDS().map { n =>
        Gate.pass(n)
        n
      })
      val first = start(summed, "stopped", folder)
      addAndWait(input, first, 0 until 20)
      Gate.close(at = 25)
      input.addData(20 until 40)
      assert(Gate.reached.await(60, TimeUnit.SECONDS))
      first.stop()
      Gate.open()
      val second = start(summed, "stopped", folder)
      addAndWait(input, second, 40 until 60)
      assert(found(spark, "stopped") == expected(60))
      second.stop()
    }
    eventually(assert(LeftOvers.threads == Nil))
  }

  test("a task that gets to its store only after its query's end keeps no store loaded") {
    withSession() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(gated(counts(input.toDS())), "late", folder)
      addAndWait(input, query, 0 until 20)
      assert(loadedOf(query, folder) == Set(0, 1))
      val late = LateTask.holdNext()
      input.addData(20 until 40)
      late.awaitHeld()
      query.stop()
      late.letGo()
      late.awaitEnd()
      // Spark unloads in maintenance what its coordinator does not know to be in use.
      eventually(assert(loadedOf(query, folder) == Set.empty))
    }
  }

  test("a killed task loads no store that was unloaded after its query's end") {
    withSession() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(gated(counts(input.toDS())), "unloaded", folder)
      addAndWait(input, query, 0 until 20)
      val late = LateTask.holdNext()
      input.addData(20 until 40)
      late.awaitHeld()
      query.stop()
      eventually(assert(loadedOf(query, folder) == Set.empty))
      late.letGo()
      late.awaitEnd()
      assert(loadedOf(query, folder) == Set.empty)
    }
  }

  /** Its tasks may be held up before they open their stores. */
  private def gated(rows: DataFrame): DataFrame = {
    import rows.sparkSession.implicits._
    rows.as[(Int, Long)].map(new LateTask.Gate[(Int, Long)]).toDF()
  }

  /** The partitions whose stores Spark has loaded in this process. */
  private def loadedOf(query: StreamingQuery, folder: Path): Set[Int] =
    (0 until 2).filter { partition =>
      val id = StateStoreId(s"file:$folder/${query.name}/state", 0L, partition)
      StateStore.isLoaded(StateStoreProviderId(id, query.runId))
    }.toSet
}

object LifecycleSuite {

  /** Holds a task up until it is killed or the gate is opened. */
  private object Gate {
    @volatile private var closedAt = -1
    @volatile var reached: CountDownLatch = new CountDownLatch(0)
    @volatile private var opened = new CountDownLatch(0)

    def close(at: Int): Unit = {
      reached = new CountDownLatch(1)
      opened = new CountDownLatch(1)
      closedAt = at
    }

    def open(): Unit = {
      closedAt = -1
      opened.countDown()
    }

    def pass(number: Int): Unit = if (number == closedAt) {
      reached.countDown()
      opened.await()
    }
  }
}
