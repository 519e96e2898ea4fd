package io.bucketstate.hdfs

import java.nio.file.Path
import java.util.concurrent.atomic.AtomicReference
import java.util.concurrent.{CompletableFuture, ConcurrentHashMap, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.{Dataset, SparkSession}
import org.scalatest.BeforeAndAfterAll
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.error.UnavailableException
import io.bucketstate.testkit.Queries

/** Queries whose checkpoint is on HDFS, while the cluster is not at its best. */
class HdfsQuerySuite extends AnyFunSuite with Queries with BeforeAndAfterAll with Eventually {
  import HdfsQuerySuite._

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(200, Millis))

  private lazy val hdfs = MiniHdfs.start(dataNodes = 2)

  override def afterAll(): Unit = hdfs.close()

  private val onHdfs = MiniHdfs.clientSettings.map { case (k, v) => s"spark.hadoop.$k" -> v }

  /** How often each of ten digits came, and what the query said of it last. */
  private def counting(spark: SparkSession, input: MemoryStream[Int]): Dataset[(Int, Long)] = {
    import spark.implicits._
    input
      .toDS()
      .groupByKey(_ % 10)
      .mapGroupsWithState[Long, (Int, Long)](GroupStateTimeout.NoTimeout)(countGroup)
  }

  private def running(said: Dataset[(Int, Long)], folder: Path, heard: Heard)(
      body: StreamingQuery => Unit
  ): Unit = {
    val query = said.writeStream
      .outputMode("update")
      .option("checkpointLocation", hdfs.path(folder).toString)
      .foreachBatch((batch: Dataset[(Int, Long)], _: Long) =>
        batch.collect().foreach { case (digit, n) => heard.put(digit, n) }
      )
      .start()
    try body(query)
    finally query.stop()
  }

  private def withQuery(settings: (String, String)*)(
      body: (MemoryStream[Int], Heard, (StreamingQuery => Unit) => Unit) => Unit
  ): Unit =
    withSession(onHdfs ++ settings: _*) { (spark, folder) =>
      import spark.implicits._
      val input = MemoryStream[Int](spark)
      val heard: Heard = new ConcurrentHashMap[Int, Long]
      val said = counting(spark, input)
      body(input, heard, query => running(said, folder, heard)(query))
    }

  private def expected(rows: Int): Map[Int, Long] =
    (0 until rows).groupMapReduce(_ % 10)(_ => 1L)(_ + _)

  private def checked(heard: Heard, rows: Int): Unit = {
    assert(heard.asScala.toMap == expected(rows))
    ()
  }

  private def rows(batch: Int): Seq[Int] = batch * 100 until (batch + 1) * 100

  /** Some batches; in one of them something happens while the stores are open and have been written to. */
  private def through(settings: (String, String)*)(event: () => Unit): Unit = withQuery(
    settings: _*
  ) { (input, heard, query) =>
    query { running =>
      for (batch <- 0 until 6) {
        if (batch == 3) happens.set(new Event(event))
        addAndWait(input, running, rows(batch))
      }
      assert(happens.get == null)
      checked(heard, 600)
    }
    query { running =>
      for (batch <- 6 until 9) addAndWait(input, running, rows(batch))
    }
    checked(heard, 900)
  }

  test("a query goes on from its checkpoint, with snapshots") {
    withQuery() { (input, heard, query) =>
      for (round <- 0 until 3)
        query { running =>
          for (batch <- 0 until 4) addAndWait(input, running, rows(round * 4 + batch))
          checked(heard, (round + 1) * 400)
          eventually {
            val made = running.recentProgress
              .flatMap(_.stateOperators)
              .map(_.customMetrics.get("bucketedSnapshots").toLong)
            assert(made.sum > 0)
          }
        }
    }
  }

  test("the namenode restarts in the middle of a batch, and clients that retry notice nothing") {
    through("spark.hadoop.dfs.client.retry.policy.enabled" -> "true")(() => hdfs.restartNameNode())
  }

  test("a datanode is lost in the middle of a batch") {
    through()(() => hdfs.stopDataNode())
    hdfs.startDataNodes()
  }

  /** What happens in the middle of a batch fails the query; when that is over, it goes on. */
  private def failing(begins: () => Unit, ends: () => Unit, told: String): Unit = withQuery() {
    (input, heard, query) =>
      query { running =>
        addAndWait(input, running, rows(0))
        val event = new Event(begins)
        happens.set(event)
        input.addData(rows(1))
        try {
          val failure = intercept[StreamingQueryException](running.processAllAvailable())
          val why = Iterator.iterate[Throwable](failure)(_.getCause).takeWhile(_ != null).toSeq
          assert(why.exists(_.isInstanceOf[UnavailableException]), why.mkString("\n"))
          assert(why.exists(_.getMessage.contains(told)), why.mkString("\n"))
          event.await()
        } finally ends()
      }
      checked(heard, 100)
      query { running =>
        running.processAllAvailable()
        checked(heard, 200)
        addAndWait(input, running, rows(2))
      }
      checked(heard, 300)
  }

  test("safe mode in the middle of a batch fails the query, which goes on afterwards") {
    failing(() => hdfs.safeMode(on = true), () => hdfs.safeMode(on = false), "safe mode")
  }

  test("a namenode that is gone fails the query of a client that does not retry") {
    failing(() => hdfs.stopNameNode(), () => hdfs.restartNameNode(), "Connection refused")
  }
}

object HdfsQuerySuite {
  private type Heard = ConcurrentHashMap[Int, Long]

  /** Happens in a thread of its own, because tasks are interrupted. */
  private final class Event(body: () => Unit) {
    private val done = new CompletableFuture[Unit]

    def run(): Unit = {
      new Thread(() => {
        try done.complete(body())
        catch { case NonFatal(e) => done.completeExceptionally(e) }
        ()
      }).start()
      await()
    }

    def await(): Unit = done.get(1, TimeUnit.MINUTES)
  }

  /** Runs once, in the first group of the next batch. */
  private val happens = new AtomicReference[Event]

  private val countGroup = (digit: Int, values: Iterator[Int], state: GroupState[Long]) => {
    val count = state.getOption.getOrElse(0L) + values.size
    state.update(count)
    Option(happens.getAndSet(null)).foreach(_.run())
    (digit, count)
  }
}
