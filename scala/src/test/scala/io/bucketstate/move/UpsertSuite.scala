package io.bucketstate.move

import java.nio.file.{Files, Path}

import scala.util.Random

import org.apache.spark.sql.functions.{count, expr, lit, max, sum}
import org.apache.spark.sql.{DataFrame, SparkSession}

import io.bucketstate.Checkpoints
import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.{Queries, Seeds, TidySuite}

/** The rows of one state put into another, of the same query: what is left is the one with the other over it. */
class UpsertSuite extends TidySuite with Queries {
  import UpsertSuite._

  for (seed <- 0 until Seeds.of(1, 30))
    test(s"rows of another state, with keys of any types: $seed") {
      val random = new Random(seed)
      val keys = random.shuffle(Keys).take(1 + random.nextInt(3))
      val aggregates = seed % 2 == 0
      val partitions = (1 + random.nextInt(3)).toString
      inPlainFolder("spark.sql.shuffle.partitions" -> partitions) { (spark, folder) =>
        val (from, other) = (folder.resolve("from"), folder.resolve("other"))
        run(spark, from, keys, aggregates, 0L until 40L)
        run(spark, other, keys, aggregates, 25L until 60L)
        val rows = spark.read.format("statestore").load(other.toString).select("key", "value")
        val request = MoveRequest(
          MoveKind.Upsert,
          from.toString,
          folder.resolve("to").toString,
          partitions = Option.when(random.nextBoolean())(1 + random.nextInt(4)),
          buckets = Option.when(random.nextBoolean())(1 << random.nextInt(6))
        )
        val plan = Checkpoints.plan(spark, request, rows)
        val (before, given) = (stateOf(spark, from), stateOf(spark, other))
        val read = plan.read()
        val report = plan.run()
        assert(stateOf(spark, folder.resolve("to")) == before ++ given, keys)
        assert(report.keys == (before ++ given).size)
        assert(report.givenKeys == given.size)
        assert(report.replacedKeys == (before.keySet & given.keySet).size)
        assert(report.stores.map(_.kept) == read.stores.map(_.kept))
      }
    }

  test("rows that cannot be are refused with their keys, and nothing is published") {
    withSession() { (spark, folder) =>
      val from = folder.resolve("from")
      run(spark, from, Seq("id % 7 as k"), aggregates = true, 0L until 20L)
      val target = folder.resolve("to")
      def refused(rows: DataFrame): String = {
        val request = MoveRequest(MoveKind.Upsert, from.toString, target.toString)
        val plan = Checkpoints.plan(spark, request, rows)
        val read = intercept[InvalidException](plan.read()).getMessage
        assert(intercept[InvalidException](plan.run()).getMessage == read)
        assert(!Files.exists(target.resolve("commits")))
        read
      }
      val twice =
        spark.range(5, 8).selectExpr("id % 2 as k", "id as count", "id as sum", "'x' as max")
      assert(refused(twice.repartition(3)).contains("have the key (1) more than once"))
      val struct = "if(id = 6, null, named_struct('k', id)) as key"
      assert(
        refused(spark.range(5, 8).selectExpr(struct, "id as count", "id as sum", "'x' as max"))
          .contains("'key' is null")
      )
    }
  }

  private def run(
      spark: SparkSession,
      checkpoint: Path,
      keys: Seq[String],
      aggregates: Boolean,
      ids: Seq[Long]
  ): Unit = {
    import spark.implicits._
    val input = memoryStream[Long](spark)
    val rows = input.toDF().toDF("id").selectExpr(keys :+ "id": _*)
    val names = rows.columns.init.toSeq
    val result =
      if (aggregates)
        rows
          .groupBy(names.head, names.tail: _*)
          .agg(count(lit(1)).as("n"), sum("id").as("s"), max(expr("cast(id as string)")).as("m"))
      else rows.dropDuplicates(names)
    val query = result.writeStream
      .format("noop")
      .outputMode(if (aggregates) "update" else "append")
      .option("checkpointLocation", checkpoint.toString)
      .start()
    try ids.grouped(15).foreach(addAndWait(input, query, _))
    finally query.stop()
  }

  /** Values by keys, as texts: a NaN is not equal to itself. */
  private def stateOf(spark: SparkSession, checkpoint: Path): Map[String, String] = {
    val rows = spark.read
      .format("statestore")
      .load(checkpoint.toString)
      .selectExpr("cast(key as string)", "cast(value as string)")
    val all = rows.collect().map(row => row.getString(0) -> row.getString(1))
    assert(all.map(_._1).distinct.length == all.length)
    all.toMap
  }
}

private object UpsertSuite {

  /** Columns of keys, made of a number. */
  val Keys: Seq[String] = Seq(
    "id % 7 as k",
    "concat('name-', id % 9) as s",
    "if(id % 3 = 0, null, id % 11) as gaps",
    "if(id % 2 = 0, -0.0D, 0.0D) as zero",
    "if(id % 4 = 0, double('NaN'), id / 3) as d",
    "cast(id as decimal(30, 6)) as wide",
    "named_struct('a', id % 5, 'b', cast(id % 3 as string)) as pair",
    "array(id % 4, null) as list",
    "cast(cast(id % 6 as string) as binary) as bytes",
    "timestamp_micros(id % 8) as t",
    "date_add(date'2026-01-01', cast(id % 8 as int)) as day"
  )
}
