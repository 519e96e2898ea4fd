package io.bucketstate.testkit

import java.nio.file.{Files, Path}
import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.execution.streaming.state.StoreMaintenance
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.{DataFrame, Encoder, SparkSession}

import io.bucketstate.BucketstateExtensions

/** Streaming queries in real local sessions, on this project's provider. */
trait Queries {

  /** A session of its own with the extension, frequent maintenance and small snapshots, and an empty folder. */
  def withSession(settings: (String, String)*)(body: (SparkSession, Path) => Unit): Unit =
    ProviderHarness.withFolder { folder =>
      val builder = SparkSession
        .builder()
        .master("local[2,4]") // a task may fail three times
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.extensions", ExtensionClass)
        .config("spark.sql.streaming.stateStore.providerClass", ProviderHarness.ProviderClass)
        .config("spark.sql.streaming.stateStore.maintenanceInterval", "200ms")
        .config("spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions", "2")
      (ForklessSettings.all ++ EngineUnderTest.settings ++ settings).foreach { case (key, value) =>
        builder.config(key, value)
      }
      val spark = builder.getOrCreate()
      try body(spark, folder)
      finally {
        spark.stop()
        // Else the next session's stores are maintained at the intervals of this one.
        StoreMaintenance.stop()
      }
    }

  /** The same with a folder whose path has no blank: Spark's state reader finds no checkpoint on one that has. */
  def inPlainFolder(settings: (String, String)*)(body: (SparkSession, Path) => Unit): Unit =
    withSession(settings: _*) { (spark, _) =>
      val folder = Files.createTempDirectory("plain")
      try body(spark, folder)
      finally ProviderHarness.deleteAll(folder)
    }

  protected val ExtensionClass: String = classOf[BucketstateExtensions].getName

  /** Into a table in memory of the query's name, which a restart empties unless all is put out again. */
  def start(
      rows: DataFrame,
      name: String,
      folder: Path,
      mode: String = "complete"
  ): StreamingQuery = rows.writeStream
    .format("memory")
    .queryName(name)
    .outputMode(mode)
    .option("checkpointLocation", folder.resolve(name).toString)
    .start()

  def memoryStream[A: Encoder](spark: SparkSession): MemoryStream[A] =
    MemoryStreams.of[A](Queries.streams.getAndIncrement(), spark)

  def addAndWait[A](input: MemoryStream[A], query: StreamingQuery, values: Seq[A]): Unit = {
    input.addData(values)
    query.processAllAvailable()
  }
}

private object Queries {
  val streams: AtomicInteger = new AtomicInteger
}
