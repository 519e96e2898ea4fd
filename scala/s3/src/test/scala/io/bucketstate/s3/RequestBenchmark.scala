package io.bucketstate.s3

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}

import com.fasterxml.jackson.databind.{ObjectMapper, SerializationFeature}
import org.apache.spark.sql.SparkSession

import io.bucketstate.config.ConfigKey
import io.bucketstate.testkit.ProviderHarness

/**
 * What a commit to an object store costs: requests by kind, counted by a proxy before an emulator of S3, and time, of
 * this provider (also through Spark's file manager) and Spark's two, on one query after another. Requests of Spark's own logs and schemas are left out.
 *
 * Arguments: `--batches n --keys n --json file`.
 */
object RequestBenchmark {
  private val Sparks = "org.apache.spark.sql.execution.streaming.state."
  private val Providers = Seq(
    ("bucketed", ProviderHarness.ProviderClass, Nil),
    // As in stores whose client cannot abort a write.
    ("renaming", ProviderHarness.ProviderClass, Seq(ConfigKey.ObjectStoreSchemes.key -> "none")),
    ("rocksdb", Sparks + "RocksDBStateStoreProvider", Nil),
    ("hdfs", Sparks + "HDFSBackedStateStoreProvider", Nil)
  )
  private val Kinds = Seq("PUT", "COPY", "PART", "GET", "HEAD", "LIST", "DELETE")
  private val Partitions = 2

  /** Batches that are not counted. */
  private val WarmUp = 5

  /** Figures of one provider, in the order in which they are printed. */
  private final case class Figures(name: String, values: Seq[(String, Double)])

  def main(args: Array[String]): Unit = {
    val options = args.grouped(2).map(pair => pair(0) -> pair(1)).toMap
    val batches = options.getOrElse("--batches", "130").toInt
    val keys = options.getOrElse("--keys", "1000").toLong
    val bucket = new Bucket
    try {
      val all = Providers.map { case (name, provider, settings) =>
        measured(bucket, name, CountedQuery.settings(bucket, provider) ++ settings, batches, keys)
      }
      println(table(all)) // scalafix:ok DisableSyntax.console
      options.get("--json").foreach(file => Files.write(Path.of(file), json(all).getBytes(UTF_8)))
    } finally bucket.close()
  }

  private def measured(
      bucket: Bucket,
      name: String,
      of: Seq[(String, String)],
      batches: Int,
      keys: Long
  ): Figures = {
    val settings = of ++ Seq(
      "spark.sql.shuffle.partitions" -> Partitions.toString,
      "spark.ui.enabled" -> "false",
      "spark.driver.host" -> "127.0.0.1",
      "spark.driver.bindAddress" -> "127.0.0.1"
    )
    val builder = SparkSession.builder().master("local[2]")
    settings.foreach { case (key, value) => builder.config(key, value) }
    val spark = builder.getOrCreate()
    try {
      val query = new CountedQuery(spark, bucket, bucket.newLocation(), keys)
      query.start()
      def send(n: Int): Unit = query.batch(n * 1000L until (n + 1) * 1000L)
      (0 until WarmUp).foreach(send)
      query.drain()
      (WarmUp until WarmUp + batches).foreach(send)
      val asked = query.drain()
      val timed = query.progress.drop(WarmUp)
      query.stop()
      query.drain()
      query.start()
      send(WarmUp + batches)
      val restart = query.drain()
      query.stop()
      val commits = batches.toDouble * Partitions
      val byKind = Kinds.map(kind => kind -> asked.byKind.getOrElse(kind, 0) / commits)
      Figures(
        name,
        byKind ++ Seq(
          "requests per commit" -> asked.total / commits,
          "commit ms" -> median(
            timed.map(_.stateOperators.head.commitTimeMs.toDouble / Partitions)
          ),
          "batch ms" -> median(timed.map(_.durationMs.get("triggerExecution").toDouble)),
          "requests at restart" -> restart.total.toDouble
        )
      )
    } finally spark.stop()
  }

  private def median(values: Seq[Double]): Double = values.sorted.apply(values.size / 2)

  private def table(all: Seq[Figures]): String = {
    val names = all.head.values.map(_._1)
    val rows =
      all.map(f => s"| ${f.name} | " + f.values.map(v => f"${v._2}%.1f").mkString(" | ") + " |")
    (Seq(s"| provider | ${names.mkString(" | ")} |", s"|---|${"---:|" * names.size}") ++ rows)
      .mkString("\n")
  }

  private def json(all: Seq[Figures]): String = {
    val mapper = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT)
    val root = mapper.createArrayNode()
    all.foreach { figures =>
      val node = root.addObject().put("provider", figures.name)
      figures.values.foreach { case (what, value) => node.put(what, value) }
    }
    mapper.writeValueAsString(root) + "\n"
  }
}
