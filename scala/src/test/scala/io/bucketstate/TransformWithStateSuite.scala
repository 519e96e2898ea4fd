package io.bucketstate

import java.nio.file.Path
import java.sql.Timestamp
import java.time.{Duration, Instant}
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.{Dataset, Encoders, SparkSession}

import io.bucketstate.testkit.{Queries, Seeds, ShortMemory, TidySuite}

/** `transformWithState` of Scala with every kind of state and timers, with restarts in the middle. */
class TransformWithStateSuite extends TidySuite with Queries {
  import TransformWithStateSuite._

  /** Runs the query once for each of `runs` from one checkpoint; all it said, run by run. */
  private def runs(said: Dataset[Said], input: MemoryStream[Event], folder: Path)(
      runs: Seq[Seq[Event]]*
  ): Seq[Seq[Said]] =
    runs.map { batches =>
      val heard = new ConcurrentLinkedQueue[Said]
      val query = start(said, folder, heard)
      try batches.foreach(addAndWait(input, query, _))
      finally query.stop()
      heard.asScala.toSeq
    }

  private def start(
      said: Dataset[Said],
      folder: Path,
      heard: ConcurrentLinkedQueue[Said]
  ): StreamingQuery = {
    val keep = (batch: Dataset[Said], _: Long) => batch.collect().foreach(heard.add(_))
    said.writeStream
      .outputMode("update")
      .option("checkpointLocation", folder.resolve("checkpoint").toString)
      .foreachBatch(keep)
      .start()
  }

  private def following(spark: SparkSession, input: MemoryStream[Event]): Dataset[Said] = {
    import spark.implicits._
    input
      .toDS()
      .withWatermark("at", "10 seconds")
      .groupByKey(_.key)
      .transformWithState(new Following, TimeMode.EventTime(), OutputMode.Update())
  }

  for (format <- Seq("2", "1").take(Seeds.of(1, 2)))
    test(
      s"values, lists, maps and timers go on from the checkpoint, in checkpoint format $format"
    ) {
      withSession(CheckpointFormat -> format) { (spark, folder) =>
        import spark.implicits._
        val input = memoryStream[Event](spark)
        val said = runs(following(spark, input), input, folder)(
          Seq(
            Seq(event("a", "x", 0), event("b", "x", 5)),
            Seq(event("a", "x", 8), event("a", "y", 9))
          ),
          Seq(Seq(event("a", "x", 12)), Seq(event("c", "z", 100)), Seq(event("a", "w", 101)))
        )
        assert(
          said.head.toSet == Set(
            Said("a", 1, Seq("x"), Map("x" -> 1L)),
            Said("b", 1, Seq("x"), Map("x" -> 1L)),
            Said("a", 3, Seq("x", "x", "y"), Map("x" -> 2L, "y" -> 1L))
          )
        )
        val goneOn = Said("a", 4, Seq("x", "x", "y", "x"), Map("x" -> 3L, "y" -> 1L))
        assert(
          said.last.toSet == Set(
            goneOn,
            goneOn.copy(ended = true),
            Said("b", 1, Seq("x"), Map("x" -> 1L), ended = true),
            Said("c", 1, Seq("z"), Map("z" -> 1L)),
            Said("c", 1, Seq("z"), Map("z" -> 1L), ended = true),
            Said("a", 1, Seq("w"), Map("w" -> 1L))
          )
        )
      }
    }

  test("of many timers those fire that are due, with the batch that makes them so") {
    withSession() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Event](spark)
      val heard = new ConcurrentLinkedQueue[Said]
      val query = start(following(spark, input), folder, heard)
      // Keys of a batch are of its second; the watermark before it is two batches behind that, and goes on to one.
      val keysOf = (0 until 8).map(batch => (0 until 20).map(n => s"$batch-$n"))
      def second(batch: Int): Long = 10L * batch
      def watermark(batch: Int): Long = second(batch) - 10
      def due(batch: Int): Long = watermark(batch - 1).max(0) + 30
      try
        for (batch <- keysOf.indices) {
          addAndWait(input, query, keysOf(batch).map(event(_, "x", second(batch))))
          val ended = heard.asScala.toSeq.filter(_.ended).map(_.key)
          val expected = (0 to batch).filter(due(_) <= watermark(batch)).flatMap(keysOf)
          assert(ended.sorted == expected.sorted, s"after batch $batch")
        }
      finally query.stop()
      assert(heard.asScala.exists(_.ended))
    }
  }

  for (isShort <- Seq(false, true))
    test(
      s"timers that are registered as others fire wait for the next batch, short of memory: $isShort"
    ) {
      ShortMemory.when(isShort)(withSession() { (spark, folder) =>
        import spark.implicits._
        val input = memoryStream[Event](spark)
        val ticks = input
          .toDS()
          .withWatermark("at", "1 second")
          .groupByKey(_.key)
          .transformWithState(new Ticking, TimeMode.EventTime(), OutputMode.Update())
        val heard = new ConcurrentLinkedQueue[Said]
        val query = start(ticks, folder, heard)
        def ticked(): Map[String, Int] =
          heard.asScala.toSeq.filter(_.ended).groupMapReduce(_.key)(_ => 1)(_ + _)
        val keys = (0 until 200).map(n => s"key $n")
        try {
          addAndWait(input, query, keys.map(event(_, "x", 0)))
          // An hour later all are due many times over.
          for (hour <- 1 to 4) {
            addAndWait(input, query, Seq(event("other", "x", 3600L * hour)))
            // One in each batch: that of the input, and the one that Spark makes because the watermark moved on. In the
            // first of them nothing was due.
            val found = ticked()
            assert(keys.forall(found(_) == 2 * hour - 1), s"after hour $hour")
          }
        } finally query.stop()
      })
    }

  test("the metrics count the families of state variables and those of timers") {
    withSession() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Event](spark)
      val query = following(spark, input).writeStream
        .outputMode("update")
        .option("checkpointLocation", folder.resolve("checkpoint").toString)
        .format("noop")
        .start()
      try {
        addAndWait(input, query, Seq(event("a", "x", 0), event("b", "x", 5)))
        val operator = query.lastProgress.stateOperators.head
        val perPartition = Seq("External", "Internal").map { kind =>
          operator.customMetrics.get(
            s"bucketed${kind}ColumnFamilies"
          ) / operator.numShufflePartitions
        }
        // Three variables and the default family; timers in two orders, and the lengths of lists.
        assert(perPartition == Seq(4, 3))
        assert(operator.customMetrics.get("bucketedInternalKeys") == 6)
        assert(operator.numRowsTotal == 6)
      } finally query.stop()
    }
  }
}

object TransformWithStateSuite {
  final case class Event(key: String, what: String, at: Timestamp)
  final case class Said(
      key: String,
      count: Long,
      all: Seq[String],
      counts: Map[String, Long],
      ended: Boolean = false
  )

  private val CheckpointFormat = "spark.sql.streaming.stateStore.checkpointFormatVersion"

  private val Start = Instant.parse("2024-03-01T00:00:00Z")

  private def event(key: String, what: String, second: Long): Event =
    Event(key, what, Timestamp.from(Start.plusSeconds(second)))

  /** Says something each second. */
  private final class Ticking extends StatefulProcessor[String, Event, Said] {

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = ()

    override def handleInputRows(
        key: String,
        events: Iterator[Event],
        timers: TimerValues
    ): Iterator[Said] = {
      getHandle.registerTimer(Start.plusSeconds(1).toEpochMilli)
      Iterator.empty
    }

    override def handleExpiredTimer(
        key: String,
        timers: TimerValues,
        expired: ExpiredTimerInfo
    ): Iterator[Said] = {
      getHandle.registerTimer(expired.getExpiryTimeInMs() + 1000)
      Iterator.single(Said(key, 1, Nil, Map.empty, ended = true))
    }
  }

  /** Counts, lists and counts by name, until half a minute of event time behind the watermark. */
  private final class Following extends StatefulProcessor[String, Event, Said] {
    @transient private var count: ValueState[Long] = _
    @transient private var all: ListState[String] = _
    @transient private var counts: MapState[String, Long] = _

    override def init(outputMode: OutputMode, timeMode: TimeMode): Unit = {
      count = getHandle.getValueState("count", Encoders.scalaLong, TTLConfig.NONE)
      all = getHandle.getListState("all", Encoders.STRING, TTLConfig.NONE)
      counts = getHandle.getMapState("counts", Encoders.STRING, Encoders.scalaLong, TTLConfig.NONE)
    }

    override def handleInputRows(
        key: String,
        events: Iterator[Event],
        timers: TimerValues
    ): Iterator[Said] = {
      if (!count.exists()) getHandle.registerTimer(endOf(timers))
      events.foreach { event =>
        count.update(Option(count.get()).getOrElse(0L) + 1)
        all.appendValue(event.what)
        val before = if (counts.containsKey(event.what)) counts.getValue(event.what) else 0L
        counts.updateValue(event.what, before + 1)
      }
      Iterator.single(said(key, ended = false))
    }

    override def handleExpiredTimer(
        key: String,
        timers: TimerValues,
        expired: ExpiredTimerInfo
    ): Iterator[Said] = {
      val last = said(key, ended = true)
      count.clear()
      all.clear()
      counts.clear()
      Iterator.single(last)
    }

    private def endOf(timers: TimerValues): Long =
      timers.getCurrentWatermarkInMs().max(Start.toEpochMilli) +
        Duration.ofSeconds(30).toMillis

    private def said(key: String, ended: Boolean): Said =
      Said(key, count.get(), all.get().toSeq, counts.iterator().toMap, ended)
  }
}
