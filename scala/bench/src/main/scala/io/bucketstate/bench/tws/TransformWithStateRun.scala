package io.bucketstate.bench
package tws

import java.nio.file.Path

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.functions.{col, count, lit, sum}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming._
import org.apache.spark.sql.{Row, SparkSession}

import io.bucketstate.BucketstateExtensions

/**
 * One batch as Spark reports it, in milliseconds. Those of the operator are of its partitions, added up.
 *
 * @param wholeMs     `durationMs.triggerExecution`
 * @param executionMs `durationMs.addBatch`: without the planning and the offsets' files
 * @param commitMs    `commitTimeMs`
 * @param loadMs      what the provider says it took to load the state, where it does
 * @param processorMs processor time of the process since the batch before, its background's included
 */
final case class TwsBatch(
    number: Long,
    wholeMs: Double,
    executionMs: Double,
    commitMs: Double,
    loadMs: Double,
    processorMs: Double,
    stateRows: Long,
    bytes: Long
)

/**
 * [[Customers]] on one provider from a checkpoint, each batch held against [[CustomersModel]].
 *
 * The source makes its rows from their numbers, so the query goes on after a restart where it was.
 *
 * @param folder of the checkpoint
 */
final class TransformWithStateRun(contender: Contender, options: BenchOptions, folder: Path) {
  import TransformWithStateRun._

  private val processor = new ProcessorTime
  private val footprint = new Footprint(folder.resolve("state"))

  /** Runs so many batches in a session of its own. */
  def run(batches: Int): TwsSample = {
    val spark = session()
    try {
      Host.loadOfOthers()
      val started = Host.nanos()
      val query = start(spark)
      try {
        val reports = follow(query, batches, Nil)
        query.stop()
        val heap = Host.settledHeapBytes().toDouble
        val load = Host.loadOfOthers()
        check(reports.map(_.progress))
        val firstMs = (reports.head.seenAt - started) / 1e6
        TwsSample(firstMs, reports.map(batchOf), heap, Host.resident(), load)
      } finally query.stop()
    } finally spark.stop()
  }

  private def session(): SparkSession = {
    val builder = SparkSession
      .builder()
      .master(s"local[$Partitions]")
      .config("spark.ui.enabled", "false")
      .config(SQLConf.SHUFFLE_PARTITIONS.key, Partitions.toLong)
      .config("spark.sql.extensions", classOf[BucketstateExtensions].getName)
      .config(SQLConf.STATE_STORE_PROVIDER_CLASS.key, contender.className)
      .config(SQLConf.STREAMING_PROGRESS_RETENTION.key, 100000L)
    (contender.settings ++ options.settings).foreach { case (key, value) =>
      builder.config(key, value)
    }
    builder.getOrCreate()
  }

  private def start(spark: SparkSession): StreamingQuery = {
    import spark.implicits._
    val customers = options.keyCounts.head
    spark.readStream
      .format("rate-micro-batch")
      .option("rowsPerBatch", options.updates.toLong)
      .option("numPartitions", Partitions.toLong)
      .load()
      .select("value")
      .as[Long]
      .map(Payment.numbered(_, customers))
      .groupByKey(_.customer)
      .transformWithState(new Customers, TimeMode.ProcessingTime(), OutputMode.Update())
      .observe(
        Observed,
        count(lit(1)).as("rows"),
        Seq("payments", "sum", "listed", "byKind").map(name => sum(col(name)).as(name)): _*
      )
      .writeStream
      .format("noop")
      .outputMode(OutputMode.Update())
      .option("checkpointLocation", folder.toUri.toString)
      .start()
  }

  /** The first batches that the query reports, looked at as they come. */
  @tailrec
  private def follow(query: StreamingQuery, batches: Int, seen: Seq[Report]): Seq[Report] = {
    val last = seen.lastOption.fold(-1L)(_.progress.batchId)
    val news = query.recentProgress.filter(p => p.batchId > last && p.numInputRows > 0)
    val all = seen ++ news.map(progress =>
      Report(progress, Host.nanos(), processorTime(), footprint.look())
    )
    if (all.size / Shown != seen.size / Shown)
      Host.aside(s"${contender.name}: ${all.size} of $batches batches")
    if (all.size >= batches) all.take(batches)
    else {
      query.awaitTermination(PollMs)
      follow(query, batches, all)
    }
  }

  private def processorTime(): Long = {
    val time = processor.ofProcess
    processor.restart()
    time
  }

  private def check(reports: Seq[StreamingQueryProgress]): Unit = {
    val model = new CustomersModel(options.keyCounts.head, options.updates)
    (0L until reports.head.batchId).foreach(_ => model.batch())
    reports.foreach { progress =>
      val row: Row = progress.observedMetrics.get(Observed)
      val said =
        Answers(row.getLong(0), row.getLong(1), row.getLong(2), row.getLong(3), row.getLong(4))
      val expected = model.batch()
      if (said != expected) {
        throw new IllegalStateException(
          s"${contender.name}: batch ${progress.batchId} said $said, not $expected"
        )
      }
    }
  }

  private def batchOf(report: Report): TwsBatch = {
    val progress = report.progress
    val operator = progress.stateOperators.head
    TwsBatch(
      progress.batchId,
      progress.durationMs.get("triggerExecution").toDouble,
      progress.durationMs.get("addBatch").toDouble,
      operator.commitTimeMs.toDouble,
      operator.customMetrics.asScala.collect { case (name, ms) if Loads(name) => ms.toDouble }.sum,
      report.processor / 1e6,
      operator.numRowsTotal,
      report.bytes
    )
  }
}

private object TransformWithStateRun {
  private val Partitions = 2
  private val Observed = "said"
  private val PollMs = 20L
  private val Shown = 10
  private val Loads = Set("rocksdbLoadLatencyMs", "bucketedReloadTimeMs")

  /**
   * @param seenAt    in nanoseconds of the host's clock
   * @param processor nanoseconds of processor time since the report before
   */
  final case class Report(
      progress: StreamingQueryProgress,
      seenAt: Long,
      processor: Long,
      bytes: Long
  )
}

/**
 * What one process showed.
 *
 * @param firstMs      from the start of the query to the end of its first batch
 * @param batches      all of them, the first one included
 * @param heapBytes    that are live after the last
 * @param resident     of the process, likewise
 * @param loadOfOthers share of the processors that other processes took, 0 to 1
 */
final case class TwsSample(
    firstMs: Double,
    batches: Seq[TwsBatch],
    heapBytes: Double,
    resident: Option[Resident],
    loadOfOthers: Double
)
