package io.bucketstate.sql

import java.nio.file.{Files, Path}
import java.sql.Timestamp
import java.time.Duration

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.functions._
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.{AnalysisException, Column, DataFrame, Encoders, Row, SparkSession}
import org.scalatest.tags.Slow

import io.bucketstate.Checkpoints
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.move.{CountsToMove, MoveKind, MoveRequest}
import io.bucketstate.testkit.{Queries, Seeds, TidySuite}

/** The state of queries by `spark.read.format("bucketstate")`, held against Spark's own source. */
@Slow
class StateSourceSuite extends TidySuite with Queries {
  import StateSourceSuite._

  test("keys of several columns: whole, by batch, and looked up in a partition") {
    inPlainFolder() { (spark, folder) =>
      val checkpoint = folder.resolve("checkpoint").toString
      run(spark, checkpoint, batches(3)) {
        _.groupBy("user", "n").agg(sum("v"), sum(lit(1)), max("at"))
      }
      // The checkpoint says all.
      spark.conf.set(ProviderClass, CountsToMove.Providers("hdfs"))
      spark.conf.set("spark.sql.shuffle.partitions", "7")

      val state = load(spark, checkpoint)
      assert(state.columns.toSeq == Seq("key", "value", "partition_id"))
      assert(rowsOf(state) == rowsOf(sparks(spark, checkpoint)))
      assert(state.select("_batch_id").distinct().collect().toSeq == Seq(Row(2L)))
      val old = load(spark, checkpoint, "batchId" -> "0")
      assert(rowsOf(old) == rowsOf(sparks(spark, checkpoint, "batchId" -> "0")))
      assert(rowsOf(old) != rowsOf(state))
      assert(old.select("_batch_id", "value.sum_2").collect().map(_.getLong(0)).toSet == Set(0L))

      // As often as rows are there, and without any column of theirs.
      val all = state.collect().toSeq
      assert(state.count() == all.size)
      val (named, unnamed) = all.map(_.getStruct(0)).partition(!_.isNullAt(0))
      val absent = Seq(Row("nobody", 3), Row(null, 99))
      for (key <- named.take(2) ++ unnamed.take(1) ++ absent) {
        val found = state.where(isKey(key))
        assert(rowsOf(found) == all.filter(_.getStruct(0) == key).map(_.toString), key)
        assert(found.rdd.getNumPartitions == 1)
        assert(explained(found).contains("reads 1 key of 1 of 2 partitions"), explained(found))
      }

      // Some of both columns, one alone, a value: what is read shrinks as far as it can, and the answer stays.
      val filters = Seq(
        "key.user in ('u1', 'u2', 'x') and key.n in (1, 2) and value.sum > 3" -> "reads 6 keys",
        "key.user = 'u1'" -> "reads all keys of 2 of 2 partitions, pushed down: key.user = 'u1'",
        "value.sum > 3" -> "reads all keys of 2 of 2 partitions",
        "key.user = 'u1' or key.n = 2" -> "reads all keys of 2 of 2 partitions",
        "key.user = 'u1' and key.n = 1 and key.n = 2" -> ""
      )
      for ((filter, shown) <- filters.take(Seeds.of(2, filters.size))) {
        val found = state.where(filter)
        val wanted = spark.createDataFrame(all.asJava, state.schema).where(filter)
        assert(rowsOf(found) == rowsOf(wanted), filter)
        assert(explained(found).contains(shown), explained(found))
      }
    }
  }

  test("windows, sessions and duplicates: by all columns of a key, or by the first") {
    inPlainFolder() { (spark, folder) =>
      val (windows, sessions, once) = (
        folder.resolve("windows").toString,
        folder.resolve("sessions").toString,
        folder.resolve("once").toString
      )
      run(spark, windows, batches(2)) {
        _.groupBy(window(col("at"), "10 seconds"), col("user")).count()
      }
      val counts = load(spark, windows)
      assert(rowsOf(counts) == rowsOf(sparks(spark, windows)))
      val first = counts.select("key.*").collect().head
      val (start, end) = (first.getStruct(0).getTimestamp(0), first.getStruct(0).getTimestamp(1))
      val one = counts.where(
        col("key.window.start") === start && col("key.window.end") === end &&
          col("key.user") <=> first.getString(1)
      )
      assert(one.select("key.*").collect().toSeq == Seq(first))
      assert(explained(one).contains("reads 1 key of 1 of 2"), explained(one))

      run(spark, sessions, batches(2), "append") {
        _.withWatermark("at", "1 hour")
          .groupBy(session_window(col("at"), "3 seconds"), col("user"))
          .count()
      }
      val all = load(spark, sessions)
      assert(rowsOf(all) == rowsOf(sparks(spark, sessions)))
      val ofUser = all.where("key.user = 'u1'")
      assert(rowsOf(ofUser) == rowsOf(all).filter(_.startsWith("[[u1,")))
      assert(rowsOf(ofUser).nonEmpty)
      val plan = explained(ofUser)
      assert(plan.contains("reads the buckets of 1 beginning of keys of 1 of 2 partitions"), plan)

      run(spark, once, batches(2), "append")(_.dropDuplicates("user"))
      val seen = load(spark, once)
      assert(rowsOf(seen.select("key")) == rowsOf(sparks(spark, once).select("key")))
      assert(seen.where("key.user = 'u1'").count() == 1)
    }
  }

  Seeds.atNight {
    test("joins, by side or by store, which have the same rows in each format of a join's state") {
      inPlainFolder() { (spark, folder) =>
        def choose(format: String): Unit =
          spark.conf.set("spark.sql.streaming.join.stateFormatVersion", format)
        // Spark 4.2 has it, and calls it unfinished.
        spark.conf.set("spark.sql.streaming.join.stateFormatV4.enabled", "true")
        val formats = Seq("4", "2", "3").filter(format => Try(choose(format)).isSuccess)
        val found = formats.take(Seeds.of(2, 3)).map { format =>
          choose(format)
          val checkpoint = folder.resolve(s"join-$format").toString
          run(spark, checkpoint, batches(2), "append") { rows =>
            val right = rows.where("n = 1").selectExpr("user as other", "n as m", "at as since")
            rows
              .where("v < 4")
              .withWatermark("at", "1 hour")
              .join(
                right.withWatermark("since", "1 hour"),
                expr("user = other and since between at - interval 1 hour and at + interval 1 hour")
              )
          }
          val none = refused(load(spark, checkpoint))
          assert(none.contains("Give option joinSide, left or right; or storeName, one of"), none)
          // Not every version of Spark gives it to every provider.
          val isOfFormat4 = none.contains("left-tsWithKey")
          assert(isOfFormat4 || format != "4" || !SPARK_VERSION.startsWith("4.2."), none)
          val sides = Seq("left", "right").map { side =>
            val rows = load(spark, checkpoint, "joinSide" -> side)
            // Of format 4 Spark's own source takes the time behind a key for a part of it, and reading
            // format 3 it leaves every second provider open that it makes.
            val wanted = sparks(spark, checkpoint, "joinSide" -> side)
            if (!isOfFormat4) assert(rows.schema == wanted.schema)
            if (format == "2") assert(rowsOf(rows) == rowsOf(wanted), s"$side of $format")
            assert(rowsOf(rows).nonEmpty)
            val name = rows.select("key.*").columns.head
            val one = rows.where(s"key.$name = 'u1'")
            assert(rowsOf(one) == rowsOf(rows).filter(_.startsWith("[[u1]")))
            assert(one.rdd.getNumPartitions == 1, explained(one))
            rowsOf(rows)
          }
          // Format 4 has a time for each row, the others a count for each key.
          val (store, rows) =
            if (isOfFormat4) "left-tsWithKey" -> 8 else "left-keyToNumValues" -> 4
          assert(load(spark, checkpoint, "storeName" -> store).count() == rows)
          sides
        }
        assert(found.distinct.size == 1)
      }
    }
  }

  for (expires <- Seq(true, false).take(Seeds.of(1, 2)))
    test(s"variables of transformWithState, of which some expire ($expires), and its timers") {
      inPlainFolder() { (spark, folder) =>
        import spark.implicits._
        // By processing time there would always be one more batch.
        spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", "false")
        val checkpoint = folder.resolve("checkpoint").toString
        run(spark, checkpoint, batches(2)) {
          _.where("user is not null")
            .as[(String, Int, Long, Timestamp)]
            .groupByKey(_._1)
            .transformWithState(
              new Keeping(expires),
              TimeMode.ProcessingTime(),
              OutputMode.Update()
            )
            .toDF()
        }
        for (name <- Seq("newest", "all", "counts")) {
          val rows = load(spark, checkpoint, "stateVarName" -> name)
          val wanted = sparks(spark, checkpoint, "stateVarName" -> name)
          assert(rows.columns.toSeq == wanted.columns.toSeq)
          assert(rowsOf(rows) == rowsOf(wanted), name)
          val one = rows.where("key.value = 'u1'")
          assert(rowsOf(one) == rowsOf(rows).filter(_.startsWith("[[u1]")))
          assert(rowsOf(one).nonEmpty)
          val looks = if (name == "counts") "the buckets of 1 beginning of keys" else "1 key"
          assert(explained(one).contains(s"reads $looks of 1 of 2 partitions"), explained(one))
        }
        val counts = load(spark, checkpoint, "stateVarName" -> "counts")
        val entry = counts.where("key.value = 'u1' and user_map_key.value = 1")
        assert(entry.count() == 1)
        assert(explained(entry).contains("reads 1 key of 1 of 2"), explained(entry))
        val timers = load(spark, checkpoint, "readRegisteredTimers" -> "true")
        assert(
          rowsOf(timers) == rowsOf(sparks(spark, checkpoint, "readRegisteredTimers" -> "true"))
        )
        assert(timers.where("key.value = 'u1'").count() == 1)

        val unnamed = refused(load(spark, checkpoint))
        assert(unnamed.contains("in variables: all, counts, newest. Name one with"), unnamed)
        val unknown = refused(load(spark, checkpoint, "stateVarName" -> "last"))
        assert(unknown.contains("Option stateVarName is 'last'"), unknown)
      }
    }

  test("in SQL, by its path or as a view, also where that has a blank") {
    withSession() { (spark, folder) =>
      val checkpoint = folder.resolve("check point").toString
      run(spark, checkpoint, batches(2))(_.groupBy("user").count())
      val all = rowsOf(load(spark, checkpoint))
      assert(all.nonEmpty)
      assert(rowsOf(spark.sql(s"SELECT * FROM bucketstate.`$checkpoint`")) == all)
      val one = spark.sql(
        s"""SELECT s.key.user, s.value.count, s._batch_id, upper(o.key.user) AS other
           |FROM bucketstate.`$checkpoint` s
           |JOIN bucketstate.`$checkpoint` WITH (batchId = 0) o ON s.key.user = o.key.user
           |WHERE s.key.user = (SELECT min(key.user) FROM bucketstate.`$checkpoint`)""".stripMargin
      )
      assert(one.collect().toSeq.map(_.getLong(2)) == Seq(1L))
      spark.sql(
        s"CREATE TEMPORARY VIEW seen USING bucketstate OPTIONS (path '$checkpoint', batchId 0)"
      )
      val first = load(spark, checkpoint, "batchId" -> "0")
      assert(rowsOf(spark.table("seen")) == rowsOf(first))

      val before = CountsToMove.tree(Path.of(checkpoint))
      intercept[AnalysisException](
        spark.sql(s"INSERT INTO bucketstate.`$checkpoint` SELECT * FROM seen")
      )
      intercept[Exception](spark.range(3).write.format("bucketstate").save(checkpoint))
      assert(CountsToMove.tree(Path.of(checkpoint)) == before)
    }
  }

  test("partitions that a batch does not tell are those of the operators, and not the session's") {
    inPlainFolder() { (spark, folder) =>
      val checkpoint = folder.resolve("checkpoint").toString
      spark.conf.set("spark.sql.shuffle.partitions", "4")
      run(spark, checkpoint, batches(2))(_.groupBy("user", "n").count())
      val all = rowsOf(load(spark, checkpoint))
      // As Spark 4.2.0 writes the second form of its offset log before the first restart.
      val offsets = Path.of(checkpoint, "offsets/1")
      val told = Files.readString(offsets)
      Files.writeString(offsets, told.replaceAll("\"spark.sql.shuffle.partitions\":\"4\",?", ""))
      Files.deleteIfExists(Path.of(checkpoint, "offsets/.1.crc"))
      assert(Files.readString(offsets) != told)
      spark.conf.set("spark.sql.shuffle.partitions", "2")
      assert(rowsOf(load(spark, checkpoint)) == all)
      val target = folder.resolve("target").toString
      val request = MoveRequest(MoveKind.Rewrite, checkpoint, target)
      assert(Checkpoints.plan(spark, request).run().keys == all.size)
      assert(rowsOf(load(spark, target)) == all)
    }
  }

  test("what cannot be read as asked for is refused, and what to do is said") {
    withSession() { (spark, folder) =>
      val checkpoint = folder.resolve("checkpoint").toString
      run(spark, checkpoint, batches(2), "append") {
        _.withWatermark("at", "1 hour")
          .dropDuplicates("user", "n", "at")
          .groupBy(window(col("at"), "10 seconds"), col("user"))
          .count()
      }
      val several = refused(load(spark, checkpoint))
      assert(
        several.contains("several stateful operators: 0 (stateStoreSave), 1 (dedupe)."),
        several
      )
      assert(several.endsWith("Give the number of one as option operatorId."))
      assert(load(spark, checkpoint, "operatorId" -> "1").count() > 0)
      for (
        (options, said) <- Seq(
          Seq("operatorId" -> "5") -> "Option operatorId is 5, and ",
          Seq("operatorId" -> "one") -> "Option operatorId is 'one'. Give a whole number",
          Seq("batchId" -> "7") -> "no committed batch 7. Those that are there are 0 to",
          Seq("batch" -> "1") -> "Option batch is not known. Those that are: path, batchId",
          Seq("readChangeFeed" -> "true") -> "is one of Spark's source statestore",
          Seq("operatorId" -> "0", "joinSide" -> "left") -> "is for a stream-stream join",
          Seq("operatorId" -> "0", "stateVarName" -> "x") -> "is for transformWithState",
          Seq("operatorId" -> "0", "storeName" -> "x") -> "Option storeName is 'x'",
          Seq("joinSide" -> "both") -> "Option joinSide is 'both'. Give one of left, right",
          Seq("joinSide" -> "left", "storeName" -> "x") -> "joinSide and storeName are both set"
        )
      ) {
        val found = refused(load(spark, checkpoint, options: _*))
        assert(found.contains(said), options)
      }
      assert(refused(spark.read.format("bucketstate").load()).contains("option path is not set"))
      val nothing = refused(load(spark, folder.resolve("nothing").toString))
      assert(nothing.contains("is not the checkpoint of a streaming query"), nothing)

      // Another operator of a kind that nobody knows is none of its business.
      val entry = Path.of(checkpoint, "state/1/_metadata/metadata")
      val before = Files.readString(entry)
      Files.deleteIfExists(entry.resolveSibling(".metadata.crc"))
      Files.writeString(entry, before.replace("\"dedupe\"", "\"oddity\""))
      assert(load(spark, checkpoint, "operatorId" -> "0").count() > 0)
      val unknown = refused(load(spark, checkpoint, "operatorId" -> "1"))
      assert(unknown.contains("is 'oddity', and keeps 'default'"), unknown)
      Files.writeString(entry, before)
      val gone = load(spark, checkpoint, "operatorId" -> "0", "batchId" -> "0")
      Files.delete(Path.of(checkpoint, "state/0/0", Attempt(1).changelog))
      val missing = intercept[Exception](gone.collect())
      val told = Iterator.iterate[Throwable](missing)(_.getCause).takeWhile(_ != null).toSeq
      val words = told.map(_.toString).mkString("\n")
      assert(words.contains("it is needed for batch 0 (version 1), operator 0 (stateStoreSave)"))
      assert(words.contains("Give another batchId"), words)

      spark.conf.set(ProviderClass, CountsToMove.Providers("hdfs"))
      val foreign = folder.resolve("foreign").toString
      run(spark, foreign, batches(1))(_.groupBy("user").count())
      val other = refused(load(spark, foreign))
      assert(other.contains("state.HDFSBackedStateStoreProvider. Read it with"), other)
      assert(other.contains("spark.read.format(\"statestore\")"), other)
    }
  }

  test("while the query runs each answer is of one batch") {
    withSession("spark.sql.streaming.minBatchesToRetain" -> "20") { (spark, folder) =>
      import spark.implicits._
      val checkpoint = folder.resolve("checkpoint").toString
      val input = memoryStream[Long](spark)
      val query = input
        .toDF()
        .selectExpr("value % 50 as key")
        .groupBy("key")
        .count()
        .writeStream
        .format("noop")
        .outputMode("update")
        .option("checkpointLocation", checkpoint)
        .start()
      try {
        addAndWait(input, query, 0L until 100L)
        var last = -1L
        while (last < 5) {
          input.addData(0L until 100L)
          val state = load(spark, checkpoint)
          val sums = state
            .selectExpr("sum(value.count)", "count(*)", "count_if(key.key = 7)", "max(_batch_id)")
            .head()
          val (sum, batch) = (sums.getLong(0), sums.getLong(3))
          assert(sum % 100 == 0 && sum > 0, batch)
          assert((sums.getLong(1), sums.getLong(2)) == ((50L, 1L)), batch)
          assert(batch >= last && query.isActive)
          val looked = state.where("key.key = 7").select("value.count").collect().toSeq
          assert(looked == Seq(Row(sum / 50)))
          last = batch
        }
      } finally query.stop()
    }
  }

  private def refused(body: => Any): String = intercept[IllegalArgumentException](body).getMessage

  private def load(spark: SparkSession, checkpoint: String, options: (String, String)*): DataFrame =
    spark.read.format("bucketstate").options(options.toMap).load(checkpoint)

  private def sparks(
      spark: SparkSession,
      checkpoint: String,
      options: (String, String)*
  ): DataFrame = spark.read.format("statestore").options(options.toMap).load(checkpoint)

  private def run(
      spark: SparkSession,
      checkpoint: String,
      batches: Seq[Seq[(String, Int, Long, Timestamp)]],
      mode: String = "update"
  )(rows: DataFrame => DataFrame): Unit = {
    import spark.implicits._
    val input = memoryStream[(String, Int, Long, Timestamp)](spark)
    val query = rows(input.toDF().toDF("user", "n", "v", "at")).writeStream
      .format("noop")
      .outputMode(mode)
      .option("checkpointLocation", checkpoint)
      .trigger(Trigger.ProcessingTime(0))
      .start()
    try batches.foreach(addAndWait(input, query, _))
    finally query.stop()
  }
}

private object StateSourceSuite {
  private val ProviderClass = "spark.sql.streaming.stateStore.providerClass"

  /** Ten rows each, of four users and of none. */
  private def batches(n: Int): Seq[Seq[(String, Int, Long, Timestamp)]] =
    Seq.tabulate(n, 10) { (batch, i) =>
      val user = if (i % 5 == 4) null else s"u${i % 5}"
      (user, (i + batch) % 3, i.toLong, Timestamp.valueOf(f"2024-03-01 00:00:$i%02d"))
    }

  private def isKey(key: Row): Column =
    col("key.user") <=> key.get(0) && lit(key.get(1)) === col("key.n")

  private def rowsOf(frame: DataFrame): Seq[String] = frame.collect().map(_.toString).sorted.toSeq

  private def explained(frame: DataFrame): String = frame.queryExecution.executedPlan.toString

  /**
   * A value, a list, counts by number, and a timer far off.
   *
   * @param expires whether value and counts have a time to live, or else the list
   */
  private final class Keeping(expires: Boolean)
      extends StatefulProcessor[String, (String, Int, Long, Timestamp), String] {
    @transient private var newest: ValueState[Long] = _
    @transient private var all: ListState[Long] = _
    @transient private var counts: MapState[Int, Long] = _

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
      def ttl(does: Boolean) = if (does) TTLConfig(Duration.ofHours(1)) else TTLConfig.NONE
      newest = getHandle.getValueState("newest", Encoders.scalaLong, ttl(expires))
      all = getHandle.getListState("all", Encoders.scalaLong, ttl(!expires))
      counts = getHandle.getMapState("counts", Encoders.scalaInt, Encoders.scalaLong, ttl(expires))
    }

    override def handleInputRows(
        key: String,
        rows: Iterator[(String, Int, Long, Timestamp)],
        timers: TimerValues
    ): Iterator[String] = {
      if (!newest.exists()) {
        getHandle.registerTimer(timers.getCurrentProcessingTimeInMs() + 3600000L)
      }
      rows.foreach { case (_, n, v, _) =>
        newest.update(v)
        all.appendValue(v)
        counts.updateValue(n, 1L + (if (counts.containsKey(n)) counts.getValue(n) else 0L))
      }
      Iterator.single(key)
    }
  }
}
