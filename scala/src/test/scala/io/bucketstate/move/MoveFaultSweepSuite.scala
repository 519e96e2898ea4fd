package io.bucketstate.move

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try, Using}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.StoreMaintenance
import org.apache.spark.sql.functions.{count, lit}
import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.Checkpoints
import io.bucketstate.error.BucketstateException
import io.bucketstate.move.job.RowSum
import io.bucketstate.testkit.{CallFault, FaultyFileManager, ProviderHarness, Queries, Seeds}

/**
 * A move of which each call of a file system goes wrong once: it fails in the project's own words and leaves nothing that a
 * query would start with, or it is made; the source stays as it was; and the same move, begun again, is made.
 */
class MoveFaultSweepSuite extends AnyFunSuite with Queries {
  import MoveFaultSweepSuite._

  for (provider <- Seq("hdfs", "rocksdb").take(Seeds.of(1, 2)))
    test(s"each call goes wrong once: from $provider") {
      withSession() { (spark, folder) =>
        val source = folder.resolve("source")
        stateOf(spark, source, provider)
        val before = tree(source)
        spark.conf.set(FileManager, classOf[FaultyFileManager].getName)
        FaultyFileManager.script(folder) { script =>
          def plan(number: Int): MovePlan = Checkpoints.plan(
            spark,
            MoveRequest(
              MoveKind.Import,
              source.toString,
              folder.resolve(s"target-$number").toString,
              partitions = Some(3)
            )
          )
          val expected = plan(0).run()
          val calls = script.calls.size
          assert(expected.keys == Keys)
          var number = 0
          for {
            call <- Seeds.oneOf(12, 1 to calls, 7)
            fault <- Faults
          } {
            number += 1
            val began = script.calls.size
            script.failAt(began + call, fault)
            val outcome = Try(plan(number).run())
            script.heal()
            val target = folder.resolve(s"target-$number")
            val what = s"call $call of $calls, $fault"
            assert(tree(source) == before, what)
            outcome match {
              case Success(report)                  => assert(report.keys == Keys, what)
              case Failure(_: BucketstateException) =>
                // The last files may be there where a reply was lost: then all is there.
                if (!Files.exists(target.resolve(s"commits/$Batch"))) {
                  assert(plan(number).run().keys == Keys, what)
                }
              case Failure(other) => fail(what, other)
            }
            val again = MoveRequest(MoveKind.Rewrite, target.toString, folder.resolve("x").toString)
            val read = Checkpoints.plan(spark, again).read()
            assert(
              read.stores.map(_.kept) == expected.stores.map(_.kept).map(asRecords(_, read)),
              what
            )
            ProviderHarness.deleteAll(target)
          }
        }
      }
    }

  /** Rows and records are added up differently: what is held against each other is how many there are. */
  private def asRecords(rows: RowSum, read: MoveReport): RowSum =
    rows.copy(sum = read.stores.head.kept.sum)

  private def stateOf(spark: SparkSession, checkpoint: Path, provider: String): Unit = {
    import spark.implicits._
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", Providers(provider))
    val input = memoryStream[Long](spark)
    val query = input
      .toDF()
      .groupBy("value")
      .agg(count(lit(1)))
      .writeStream
      .format("noop")
      .outputMode("update")
      .option("checkpointLocation", checkpoint.toString)
      .start()
    try (0 to Batch).foreach(b => addAndWait(input, query, b * 10L until b * 10L + 30L))
    finally query.stop()
    // What Spark still deletes and writes beside the batches would change the source.
    StoreMaintenance.stop()
  }
}

private object MoveFaultSweepSuite {
  val FileManager = "spark.sql.streaming.checkpointFileManagerClass"
  val Batch = 1
  val Keys = 40L
  val Faults: Seq[CallFault] = Seq(CallFault.Throws, CallFault.LosesReply, CallFault.Crashes)

  private val Sparks = "org.apache.spark.sql.execution.streaming.state."

  val Providers: Map[String, String] = Map(
    "hdfs" -> s"${Sparks}HDFSBackedStateStoreProvider",
    "rocksdb" -> s"${Sparks}RocksDBStateStoreProvider"
  )

  /** Every file with what is in it. */
  def tree(root: Path): Map[String, Seq[Byte]] =
    Using.resource(Files.walk(root)) { all =>
      all.iterator.asScala
        .filter(Files.isRegularFile(_))
        .map(file => root.relativize(file).toString -> Files.readAllBytes(file).toSeq)
        .toMap
    }
}
