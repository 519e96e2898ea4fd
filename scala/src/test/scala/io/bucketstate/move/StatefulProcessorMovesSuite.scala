package io.bucketstate.move

import java.nio.file.Path
import java.sql.Timestamp
import java.time.{Duration, Instant}
import java.util.concurrent.ConcurrentLinkedQueue

import scala.annotation.nowarn
import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.execution.streaming.state.{SparkSessions, StoreMaintenance}
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.{Dataset, Encoders, SparkSession}

import io.bucketstate.Checkpoints
import io.bucketstate.error.InvalidException
import io.bucketstate.move.log.{QueryFolder, QueryLogs}
import io.bucketstate.move.read.SourceQuery
import io.bucketstate.move.write.EmptyStores
import io.bucketstate.testkit.{FaultyFileManager, Queries, Seeds, TidySuite}

/**
 * State of Scala's `transformWithState` that goes from RocksDB to this provider, to other partitions and buckets, and back:
 * each batch puts out what that of a twin does, which stays where it began.
 */
class StatefulProcessorMovesSuite extends TidySuite with Queries {
  import StatefulProcessorMovesSuite._

  for {
    isOfClock <- Seq(false, true).take(Seeds.of(few = 0, many = 2))
    encoding <- Seq("unsaferow", "avro")
    format <- Seq("1", "2")
  } {
    val time = if (isOfClock) "processing time and TTL" else "event time"
    test(s"variables and timers of $time go on as a twin's, $encoding, checkpoint format $format") {
      withSession(Encoding -> encoding, CheckpointFormat -> format) { (spark, folder) =>
        val moved = new Going(spark, folder.resolve("source"), isOfClock)
        val twin = new Going(spark, folder.resolve("twin"), isOfClock)
        var said, fired, gone = 0
        def go(provider: String): Unit = for (_ <- 1 to 3) {
          val (of, expected) = (moved.batch(provider), twin.batch("rocksdb"))
          assert(of == expected, s"batch ${moved.batches - 1}, $provider")
          said += expected.said.size
          fired += expected.said.count(_.contains(Fired))
          gone += expected.said.count(_.contains(Gone))
        }
        def move(name: String, request: MoveRequest => MoveRequest): Unit = {
          // What Spark still deletes and writes beside the batches would change the source.
          StoreMaintenance.stop()
          val (source, target) = (moved.checkpoint, folder.resolve(name))
          val before = CountsToMove.tree(source)
          val all = request(MoveRequest(MoveKind.Rewrite, source.toString, target.toString))
          assert(Checkpoints.plan(spark, all).run().keys > 0)
          assert(CountsToMove.tree(source) == before)
          moved.checkpoint = target
          // A batch that puts out nothing, or no timer, would show nothing.
          assert(said > 0 && (fired > 0 || name == "in"), s"$said rows, $fired of timers")
          said = 0
          fired = 0
        }
        go("rocksdb")
        move("in", _.copy(kind = MoveKind.Import, partitions = Some(5)))
        go("bucketstate")
        move("other", _.copy(partitions = Some(3), buckets = Some(8)))
        go("bucketstate")
        if (EmptyStores.AreServed) {
          move("out", _.copy(kind = MoveKind.Export, to = "rocksdb", partitions = Some(4)))
          go("rocksdb")
        }
        assert(fired > 0)
        assert((gone > 0) == isOfClock)
      }
    }
  }

  for (isOfClock <- Seq(false, true))
    test(s"keys that are deleted go with all that is kept of them, of the clock $isOfClock") {
      withSession() { (spark, folder) =>
        val going = new Going(spark, folder.resolve("source"), isOfClock)
        for (_ <- 1 to 4) going.batch("rocksdb")
        StoreMaintenance.stop()
        def request(kind: MoveKind, target: String) = MoveRequest(
          kind,
          going.checkpoint.toString,
          folder.resolve(target).toString,
          partitions = Some(3),
          deleteKeys = Some("value in ('key 3', 'key 7')")
        )
        val all = Checkpoints.plan(spark, request(MoveKind.Import, "all").copy(deleteKeys = None))
        val before = all.read().keys
        val report = Checkpoints.plan(spark, request(MoveKind.Import, "in")).run()
        // Values, lists, maps and timers, each in a family of its own, and what expires of them.
        assert(report.deletedKeys >= 2 * 6)
        assert(report.keys == before - report.deletedKeys)
        going.checkpoint = folder.resolve("in")
        val again = Checkpoints.plan(spark, request(MoveKind.Rewrite, "again")).read()
        assert(again.deletedKeys == 0 && again.keys == report.keys)
        val said = going.batch("bucketstate").said
        assert(said.nonEmpty)
        // They begin anew: they have heard of what this batch brought, and of nothing before.
        val counts = said.map(_.split("; ")).collect {
          case Array(key @ ("key 3" | "key 7"), "rows", count, _*) => key -> count
        }
        val brought = events(going.batches - 1).groupBy(_.key)
        assert(counts.nonEmpty)
        counts.foreach { case (key, count) => assert(count == s"Some(${brought(key).size})", key) }
      }
    }

  for (format <- Seq("1", "2"))
    test(s"an import reads changelogs of RocksDB and begins none, checkpoint format $format") {
      val settings = Seq(SourceQuery.ChangelogSetting -> "true", CheckpointFormat -> format)
      withSession(settings: _*) { (spark, folder) =>
        val going = new Going(spark, folder.resolve("source"), isOfClock = false)
        for (_ <- 1 to 3) going.batch("rocksdb")
        StoreMaintenance.stop()
        spark.conf.set(CountsToMove.FileManager, classOf[FaultyFileManager].getName)
        FaultyFileManager.script(going.checkpoint) { script =>
          val request = MoveRequest(
            MoveKind.Import,
            going.checkpoint.toString,
            folder.resolve("in").toString,
            partitions = Some(3)
          )
          assert(Checkpoints.plan(spark, request).run().keys > 0)
          val calls = script.calls
          assert(calls.exists(_.matches("open .*\\.changelog")), calls)
          assert(!calls.exists(_.startsWith("create ")), calls)
        }
        spark.conf.unset(CountsToMove.FileManager)
        going.checkpoint = folder.resolve("in")
        assert(going.batch("bucketstate").said.nonEmpty)
      }
    }

  for ((provider, kind) <- Seq("rocksdb" -> MoveKind.Import, "bucketstate" -> MoveKind.Rewrite))
    test(s"a variable that is declared no more is not left behind without a word, from $provider") {
      withSession() { (spark, folder) =>
        import spark.implicits._
        spark.conf.set(
          "spark.sql.streaming.stateStore.providerClass",
          CountsToMove.Providers(provider)
        )
        val source = folder.resolve("source")
        val input = memoryStream[String](spark)
        def batch(form: Profiled, keys: String*): Unit = {
          val query = input
            .toDS()
            .groupByKey(key => key)
            .transformWithState(form, TimeMode.None(), OutputMode.Update())
            .writeStream
            .format("noop")
            .outputMode("update")
            .option("checkpointLocation", source.toString)
            .start()
          try addAndWait(input, query, keys)
          finally query.stop()
          StoreMaintenance.stop()
        }
        def planned(target: String): MovePlan = {
          val all = MoveRequest(kind, source.toString, folder.resolve(target).toString)
          Checkpoints.plan(spark, all.copy(partitions = Some(3)))
        }
        batch(new Profiled(hasProfile = true, deletes = false), "a", "b", "c")
        assert(planned("both").isPossible)
        batch(new Profiled(hasProfile = false, deletes = false), "a")
        val before = CountsToMove.tree(source)
        val undeclared = "'profile' (3 keys), which the query declares no more"
        val without = planned("without")
        assert(without.findings.exists(_.text.contains(s"$undeclared: it is left behind")))
        assert(without.run().keys == 3)
        if (provider == "bucketstate") {
          val request = MoveRequest(kind, source.toString, "", partitions = Some(3), inPlace = true)
          val refused =
            intercept[InvalidException](Checkpoints.plan(spark, request).run()).getMessage
          assert(refused.contains(s"$undeclared: it would be lost"), refused)
          assert(refused.contains("deleteIfExists"), refused)
        }
        assert(CountsToMove.tree(source) == before)
        // Either it is declared again, and moves with the rest,
        batch(new Profiled(hasProfile = true, deletes = false), "d")
        assert(planned("again").run().keys == 2 * 4)
        // or it is deleted.
        batch(new Profiled(hasProfile = false, deletes = true), "a")
        assert(planned("deleted").run().keys == 4)
      }
    }
}

private object StatefulProcessorMovesSuite {
  val Encoding = "spark.sql.streaming.stateStore.encodingFormat"
  val CheckpointFormat = "spark.sql.streaming.stateStore.checkpointFormatVersion"

  /** What rows of timers have. */
  val Fired = "fired"

  /** What rows have of a value that has expired. */
  val Gone = "gone"

  /** What a batch puts out, in order, and how many rows the state has after it. */
  final case class Told(said: Seq[String], rows: Long)

  final case class Event(key: String, what: String, at: Timestamp)

  /** Later than any clock, so that the first batch, which runs by the clock, is before it. */
  private val Start = Instant.parse("2200-03-01T00:00:00Z")

  /** From one batch to the next. */
  private val Step = Duration.ofSeconds(40)

  /** How long variables that expire keep something: some go with each batch, and some stay. */
  private val Kept = TTLConfig(Step.multipliedBy(2).plusSeconds(20))

  private def at(batch: Int): Instant = Start.plus(Step.multipliedBy(batch.toLong))

  /** The input of a batch: the same for the same number. */
  private def events(batch: Int): Seq[Event] = {
    val random = new Random(batch.toLong)
    if (batch == 0) Seq(Event(Nobody, "", Timestamp.from(Start)))
    else
      Seq.fill(15) {
        val second = random.nextInt(10).toLong
        Event(
          s"key ${random.nextInt(12)}",
          s"${random.nextInt(5)}",
          Timestamp.from(at(batch).plusSeconds(second))
        )
      }
  }

  /** A key of which nothing is kept. */
  private val Nobody = "nobody"

  /** A query that is started for each of its batches. */
  final class Going(spark: SparkSession, var checkpoint: Path, isOfClock: Boolean) extends Queries {
    import spark.implicits._

    private[this] val input = memoryStream[Event](spark)
    private[this] val heard = new ConcurrentLinkedQueue[String]
    private[this] val query = {
      val mode = if (isOfClock) TimeMode.ProcessingTime() else TimeMode.EventTime()
      input
        .toDS()
        .withWatermark("at", "10 seconds")
        .groupByKey(_.key)
        .transformWithState(new Keeper(isOfClock), mode, OutputMode.Update())
    }

    var batches = 0

    // The trigger that is not deprecated makes one batch after the other by the clock, without an end.
    @nowarn("cat=deprecation")
    def batch(provider: String): Told = {
      spark.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        CountsToMove.Providers(provider)
      )
      input.addData(events(batches))
      if (isOfClock && batches > 0) plan()
      heard.clear()
      val keep = (rows: Dataset[String], _: Long) => rows.collect().foreach(heard.add(_))
      val running = query.writeStream
        .outputMode("update")
        .option("checkpointLocation", checkpoint.toString)
        .foreachBatch(keep)
        .trigger(Trigger.Once())
        .start()
      try running.awaitTermination()
      finally running.stop()
      batches += 1
      val progress = running.lastProgress
      assert(progress.batchId == batches - 1)
      Told(heard.asScala.toSeq.sorted, progress.stateOperators.head.numRowsTotal)
    }

    /** Plans the next batch: what is planned runs at its own time, whatever the clock says. */
    private def plan(): Unit =
      Using.resource(
        new QueryFolder(
          new HadoopPath(checkpoint.toString),
          SparkSessions.hadoopConf(spark),
          Set.empty
        )
      ) { folder =>
        val last = new QueryLogs(folder).offset(batches - 1L)
        val next = last.text.changed(_.put("batchTimestampMs", at(batches).toEpochMilli))
        // A memory stream counts what was added to it.
        folder.write(s"offsets/$batches", next.copy(behind = Seq(batches.toString)).bytes)
      }
  }

  /** Counts, and may have a variable beside that. */
  private final class Profiled(hasProfile: Boolean, deletes: Boolean)
      extends StatefulProcessor[String, String, String] {
    @transient private var count: ValueState[Long] = _
    @transient private var profile: ValueState[String] = _

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
      count = getHandle.getValueState("count", Encoders.scalaLong, TTLConfig.NONE)
      if (hasProfile) {
        profile = getHandle.getValueState("profile", Encoders.STRING, TTLConfig.NONE)
      }
      if (deletes) getHandle.deleteIfExists("profile")
    }

    override def handleInputRows(
        key: String,
        rows: Iterator[String],
        timers: TimerValues
    ): Iterator[String] = {
      count.update(Option(count.get()).getOrElse(0L) + rows.size)
      if (hasProfile) profile.update(s"of $key")
      Iterator.single(key)
    }
  }

  /** Says all that it has of a key, in order, with each call. */
  private final class Keeper(isOfClock: Boolean) extends StatefulProcessor[String, Event, String] {
    @transient private var count: ValueState[Long] = _
    @transient private var all: ListState[String] = _
    @transient private var counts: MapState[String, Long] = _
    @transient private var last: ValueState[String] = _
    @transient private var recent: ListState[String] = _
    @transient private var latest: MapState[String, String] = _

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
      val none = TTLConfig.NONE
      // Nothing expires by the time of events.
      val some = if (isOfClock) Kept else none
      count = getHandle.getValueState("count", Encoders.scalaLong, none)
      all = getHandle.getListState("all", Encoders.STRING, none)
      counts = getHandle.getMapState("counts", Encoders.STRING, Encoders.scalaLong, none)
      last = getHandle.getValueState("last", Encoders.STRING, some)
      recent = getHandle.getListState("recent", Encoders.STRING, some)
      latest = getHandle.getMapState("latest", Encoders.STRING, Encoders.STRING, some)
    }

    override def handleInputRows(
        key: String,
        events: Iterator[Event],
        timers: TimerValues
    ): Iterator[String] = if (key == Nobody) Iterator.empty
    else {
      val now =
        if (isOfClock) timers.getCurrentProcessingTimeInMs()
        else timers.getCurrentWatermarkInMs().max(Start.toEpochMilli)
      // Rows of one key come in any order.
      events.toSeq.sortBy(event => (event.at.getTime, event.what)).foreach { event =>
        val number = Option(count.get()).getOrElse(0L) + 1
        count.update(number)
        all.appendValue(event.what)
        val before = if (counts.containsKey(event.what)) counts.getValue(event.what) else 0L
        counts.updateValue(event.what, before + 1)
        last.update(s"${event.what} of ${event.at.getTime}")
        recent.appendValue(event.what)
        latest.updateValue(event.what, event.at.toInstant.toString)
        // Some are due with the next batch and some later, several of one key with one batch.
        getHandle.registerTimer(now + Step.toMillis * (1 + number % 4) - 1000 * (number % 7))
        if (number % 5 == 0) getHandle.deleteTimer(getHandle.listTimers().max)
        if (number % 6 == 0) counts.removeKey(counts.keys().min)
      }
      Iterator.single(said(key, "rows"))
    }

    override def handleExpiredTimer(
        key: String,
        timers: TimerValues,
        expired: ExpiredTimerInfo
    ): Iterator[String] = {
      val row = said(key, s"$Fired ${expired.getExpiryTimeInMs()}")
      // Some keys begin anew.
      if (expired.getExpiryTimeInMs() / 1000 % 3 == 0) {
        count.clear()
        all.clear()
        counts.clear()
      }
      Iterator.single(row)
    }

    private def said(key: String, what: String): String = Seq(
      key,
      what,
      Option.when(count.exists())(count.get()),
      all.get().mkString(","),
      counts.iterator().toSeq.sorted.mkString(","),
      if (last.exists()) last.get() else Gone,
      recent.get().mkString(","),
      latest.iterator().toSeq.sorted.mkString(","),
      getHandle.listTimers().toSeq.sorted.mkString(",")
    ).mkString("; ")
  }
}
