package io.bucketstate

import java.nio.file.Path
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.{Dataset, Encoder, Encoders, Row, SparkSession}

import io.bucketstate.testkit.{Queries, Seeds, TidySuite}

/** State variables whose schema changes with a restart of the query. */
class SchemaEvolutionSuite extends TidySuite with Queries {
  import SchemaEvolutionSuite._

  private def input(spark: SparkSession): MemoryStream[Event] = {
    import spark.implicits._
    memoryStream[Event](spark)
  }

  /** All that one run of the query says of `events`, one of them with each batch. */
  private def run(
      input: MemoryStream[Event],
      processor: StatefulProcessor[String, Event, String],
      folder: Path
  )(events: Event*): Seq[String] = {
    val heard = new ConcurrentLinkedQueue[String]
    val keep = (batch: Dataset[String], _: Long) => batch.collect().foreach(heard.add(_))
    val query = input
      .toDS()
      .groupByKey(_.key)(Encoders.STRING)
      .transformWithState(processor, TimeMode.None(), OutputMode.Update())(Encoders.STRING)
      .writeStream
      .outputMode("update")
      .option("checkpointLocation", folder.resolve("checkpoint").toString)
      .foreachBatch(keep)
      .start()
    try events.foreach(event => addAndWait(input, query, Seq(event)))
    finally query.stop()
    heard.asScala.toSeq
  }

  for (format <- Seq("2", "1").take(Seeds.of(1, 2)))
    test(s"values, lists and maps are read as of the newest schema, in checkpoint format $format") {
      withSession(Format -> format, Encoding -> "avro") { (spark, folder) =>
        val events = input(spark)
        val first = run(events, firsts, folder)(Event("a", "x", 1), Event("b", "y", 2))
        assert(
          first == Seq(
            "a: First(x,1,0.5) First(x,1,0.5) x->First(x,1,0.5)",
            "b: First(y,2,0.5) First(y,2,0.5) y->First(y,2,0.5)"
          )
        )
        val oldA = "Second(1,None,x)"
        val newA = "Second(3,Some(z),z)"
        assert(
          run(events, seconds, folder)(Event("a", "z", 3), Event("a", "", 0)) ==
            Seq.fill(2)(s"a: $newA $oldA,$newA x->$oldA,z->$newA")
        )
        assert(
          run(events, seconds, folder)(Event("b", "", 0), Event("c", "w", 5)) == Seq(
            "b: Second(2,None,y) Second(2,None,y) y->Second(2,None,y)",
            "c: Second(5,Some(w),w) Second(5,Some(w),w) w->Second(5,Some(w),w)"
          )
        )
      }
    }

  /** Batch, kind of change, key and columns of what the batches changed of a variable. */
  private def feed(spark: SparkSession, folder: Path, variable: String)(
      columns: String*
  ): Seq[Row] = spark.read
    .format("statestore")
    .option("stateVarName", variable)
    .option("readChangeFeed", "true")
    .option("changeStartBatchId", "0")
    .load(folder.resolve("checkpoint").toString)
    .orderBy("batch_id")
    .select("batch_id", Seq("change_type", "key.value") ++ columns: _*)
    .collect()
    .toSeq

  test("the change feed has what was put with every schema as of the newest") {
    inPlainFolder(Encoding -> "avro") { (spark, folder) =>
      val events = input(spark)
      run(events, firsts, folder)(Event("a", "x", 1))
      run(events, seconds, folder)(Event("a", "z", 2))
      run(events, thirds, folder)(Event("a", "z", 3), Event("b", "y", 4))
      val put = Seq[(Long, String, String, Seq[Any])](
        (0L, "a", "x", Seq(1L, null, "x", null)),
        (1L, "a", "z", Seq(2L, "z", "z", null)),
        (2L, "a", "z", Seq(3L, "z", "z", 6)),
        (3L, "b", "y", Seq(4L, "y", "y", 8))
      )
      val values = put.map { case (batch, key, _, value) =>
        Row.fromSeq(Seq[Any](batch, "update", key) ++ value)
      }
      assert(feed(spark, folder, "last")("value.*") == values)
      val entries = put.map { case (batch, key, name, value) =>
        Row.fromSeq(Seq[Any](batch, "update", key, name) ++ value)
      }
      assert(feed(spark, folder, "named")("user_map_key.value", "user_map_value.*") == entries)
    }
  }

  test(
    "the change feed takes no number of a schema for the mark of a time, where both can be read"
  ) {
    inPlainFolder(Encoding -> "avro") { (spark, folder) =>
      val events = input(spark)
      run(events, ones, folder)(Event("a", "x", 1))
      run(events, twos, folder)(Event("a", "x", 2))
      // Without its first five bytes, a row of this schema is one of the first.
      run(events, threes, folder)(Event("a", "x", 3))
      assert(
        feed(spark, folder, "last")("value.*") == Seq(
          Row(0L, "update", "a", 1L, null, null),
          Row(1L, "update", "a", 2L, 20L, null),
          Row(2L, "update", "a", 3L, 30L, 300)
        )
      )
    }
  }

  test("what Avro cannot resolve is refused at the start with both schemas, and the state stays") {
    withSession(Encoding -> "avro") { (spark, folder) =>
      val events = input(spark)
      run(events, firsts, folder)(Event("a", "x", 1))
      val error = intercept[StreamingQueryException] {
        run(events, wrongs, folder)(Event("a", "y", 1))
      }
      assert(error.getMessage.contains("STATE_STORE_INVALID_VALUE_SCHEMA_EVOLUTION"))
      assert(
        error.getMessage.contains("count,BooleanType") && error.getMessage.contains(
          "count,IntegerType"
        ),
        error.getMessage
      )
      assert(
        run(events, firsts, folder)(
          Event("b", "y", 1)
        ).last == "b: First(y,1,0.5) First(y,1,0.5) y->First(y,1,0.5)"
      )
    }
  }

  test("without the encoding a changed schema is refused at the start, and the state stays") {
    withSession() { (spark, folder) =>
      val events = input(spark)
      run(events, firsts, folder)(Event("a", "x", 1))
      val error = intercept[StreamingQueryException] {
        run(events, seconds, folder)(Event("a", "y", 1))
      }
      assert(error.getMessage.contains("STATE_STORE_VALUE_SCHEMA_NOT_COMPATIBLE"))
    }
  }
}

object SchemaEvolutionSuite {
  final case class Event(key: String, name: String, n: Int)

  final case class First(name: String, count: Int, gone: Double)
  final case class Second(count: Long, came: Option[String], name: String)
  final case class Third(count: Long, came: Option[String], name: String, last: Option[Int])
  final case class Wrong(name: String, count: Boolean)

  final case class One(a: Long)
  final case class Two(a: Long, b: Option[Long])
  final case class Three(a: Long, b: Option[Long], d: Option[Int])

  private val Format = "spark.sql.streaming.stateStore.checkpointFormatVersion"
  private val Encoding = "spark.sql.streaming.stateStore.encodingFormat"

  private def firsts = new Keeping[First](Encoders.product[First], First(_, _, 0.5))
  private def seconds =
    new Keeping[Second](Encoders.product[Second], (name, n) => Second(n.toLong, Some(name), name))
  private def thirds = new Keeping[Third](
    Encoders.product[Third],
    (name, n) => Third(n.toLong, Some(name), name, Some(2 * n))
  )
  private def wrongs = new Keeping[Wrong](Encoders.product[Wrong], (name, n) => Wrong(name, n > 0))
  private def ones = new Keeping[One](Encoders.product[One], (_, n) => One(n.toLong))
  private def twos =
    new Keeping[Two](Encoders.product[Two], (_, n) => Two(n.toLong, Some(10L * n)))
  private def threes = new Keeping[Three](
    Encoders.product[Three],
    (_, n) => Three(n.toLong, Some(10L * n), Some(100 * n))
  )

  /** Keeps what it makes of each event with a name as the last one, in a list, and by name. */
  private final class Keeping[A](encoder: Encoder[A], make: (String, Int) => A)
      extends StatefulProcessor[String, Event, String] {
    @transient private var last: ValueState[A] = _
    @transient private var all: ListState[A] = _
    @transient private var named: MapState[String, A] = _

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
      last = getHandle.getValueState("last", encoder, TTLConfig.NONE)
      all = getHandle.getListState("all", encoder, TTLConfig.NONE)
      named = getHandle.getMapState("named", Encoders.STRING, encoder, TTLConfig.NONE)
    }

    override def handleInputRows(
        key: String,
        events: Iterator[Event],
        timers: TimerValues
    ): Iterator[String] = {
      events.filter(_.name.nonEmpty).foreach { event =>
        val made = make(event.name, event.n)
        last.update(made)
        all.appendValue(made)
        named.updateValue(event.name, made)
      }
      val byName = named.iterator().toSeq.sortBy(_._1).map { case (name, a) => s"$name->$a" }
      Iterator(s"$key: ${last.get()} ${all.get().mkString(",")} ${byName.mkString(",")}")
    }
  }
}
