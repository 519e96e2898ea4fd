package io.bucketstate.move

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.{fs => hadoop}
import org.apache.spark.sql.execution.streaming.state.{SparkSessions, StoreMaintenance}
import org.apache.spark.sql.functions.{count, lit}
import org.apache.spark.sql.streaming.StreamingQuery
import org.apache.spark.sql.{DataFrame, SparkSession}

import io.bucketstate.move.log.QueryFolder
import io.bucketstate.testkit.{ProviderHarness, Queries}

/** A query that counts, whose checkpoint is moved once it is stopped. */
trait CountsToMove extends Queries {
  import CountsToMove._

  /** Runs the batches up to [[Batch]], on the session's provider. */
  protected def countInto(spark: SparkSession, checkpoint: Path): Unit = {
    import spark.implicits._
    val input = memoryStream[Long](spark)
    val query = updates(input.toDF().groupBy("value").agg(count(lit(1))), checkpoint)
    try (0 to Batch).foreach(b => addAndWait(input, query, b * 10L until b * 10L + 30L))
    finally query.stop()
    // What Spark still deletes and writes beside the batches would change the source.
    StoreMaintenance.stop()
  }

  /** Runs it for a key with each batch, up to so many batches. */
  protected def keyByBatch(spark: SparkSession, checkpoint: Path, batches: Int): Unit = {
    import spark.implicits._
    val input = memoryStream[Long](spark)
    // What a source had is asked for again at a restart.
    val done = inFolder(spark, checkpoint)(_.numbers("commits")).lastOption.fold(0)(_.toInt + 1)
    (0 until done).foreach(b => input.addData(b.toLong))
    val query = updates(input.toDF().groupBy("value").agg(count(lit(1))), checkpoint)
    try (done until batches).foreach(b => addAndWait(input, query, Seq(b.toLong)))
    finally query.stop()
    // What Spark still deletes beside the batches would change the source.
    StoreMaintenance.stop()
  }

  protected def inFolder[A](spark: SparkSession, checkpoint: Path)(body: QueryFolder => A): A = {
    val path = new hadoop.Path(checkpoint.toString)
    val folder =
      new QueryFolder(path, SparkSessions.hadoopConf(spark), Publishing.objectStores(spark))
    try body(folder)
    finally folder.close()
  }

  /** Starts a query that puts out what has changed. */
  protected def updates(rows: DataFrame, checkpoint: Path): StreamingQuery =
    rows.writeStream
      .format("noop")
      .outputMode("update")
      .option("checkpointLocation", checkpoint.toString)
      .start()

  /** The same on the provider of that name. */
  protected def countInto(spark: SparkSession, checkpoint: Path, provider: String): Unit = {
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", Providers(provider))
    countInto(spark, checkpoint)
  }
}

object CountsToMove {
  val FileManager = "spark.sql.streaming.checkpointFileManagerClass"

  /** The last batch. */
  val Batch = 1

  /** How many keys there are after it. */
  val Keys = 40L

  private val Sparks = "org.apache.spark.sql.execution.streaming.state."

  val Providers: Map[String, String] = Map(
    "hdfs" -> s"${Sparks}HDFSBackedStateStoreProvider",
    "rocksdb" -> s"${Sparks}RocksDBStateStoreProvider",
    "bucketstate" -> ProviderHarness.ProviderClass
  )

  /** Whether all of a move into a folder is there, but for the end of its mark. */
  def isWhole(target: Path): Boolean = {
    val ofQuery = target.resolve("metadata")
    Files.exists(ofQuery) && Files.readString(ofQuery).startsWith("{")
  }

  /** Hadoop's sums beside files go where one is replaced. */
  def withoutSums(root: Path): Map[String, Seq[Byte]] =
    tree(root).filterNot { case (name, _) => name.endsWith(".crc") }

  /** Every file with what is in it. */
  def tree(root: Path): Map[String, Seq[Byte]] =
    Using.resource(Files.walk(root)) { all =>
      all.iterator.asScala
        .filter(Files.isRegularFile(_))
        .map(file => root.relativize(file).toString -> Files.readAllBytes(file).toSeq)
        .toMap
    }
}
