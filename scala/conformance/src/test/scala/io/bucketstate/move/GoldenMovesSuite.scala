package io.bucketstate.move

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.commons.io.FileUtils
import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.SparkSessions
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.Checkpoints
import io.bucketstate.error.InvalidException
import io.bucketstate.move.read.{OwnRecords, OwnRows, ProviderRows, StateRows}

/**
 * The checkpoints of older Sparks that Spark itself tests with. What has metadata of its operators is moved, and is what
 * Spark's own provider reads of it; the others are refused, and it is said what to do.
 */
class GoldenMovesSuite extends AnyFunSuite with BeforeAndAfterAll {
  import GoldenMovesSuite._

  private lazy val spark = SparkSession
    .builder()
    .master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .getOrCreate()

  override def afterAll(): Unit = spark.stop()

  private def hadoop: Configuration = SparkSessions.hadoopConf(spark)

  private def planned(source: Path, target: Path): PlannedMove =
    new Planner(
      spark,
      MoveRequest(MoveKind.Import, source.toString, target.toString, partitions = Some(3)),
      None,
      java.time.Clock.systemUTC()
    ).plan()

  test("checkpoints of old are there, of each kind") {
    assert(checkpoints.size >= 10)
    assert(checkpoints.exists(hasMetadata) && !checkpoints.forall(hasMetadata))
  }

  for (golden <- checkpoints)
    test(nameOf(golden)) {
      val folder = Files.createTempDirectory("golden")
      try {
        val (source, target) = (folder.resolve("source"), folder.resolve("target"))
        FileUtils.copyDirectory(golden.toFile, source.toFile)
        if (!hasMetadata(golden)) {
          val error = intercept[InvalidException](planned(source, target))
          assert(
            error.getMessage.contains("run the query for a batch with a newer Spark first") ||
              error.getMessage.contains("has no finished batch"),
            error.getMessage
          )
        } else {
          val plan = planned(source, target)
          assert(plan.isPossible, plan.findings)
          val report = Checkpoints.plan(spark, plan.request).run()
          val moved = new Planner(
            spark,
            MoveRequest(MoveKind.Rewrite, target.toString, folder.resolve("x").toString),
            None,
            java.time.Clock.systemUTC()
          ).plan()
          var keys = 0L
          for ((work, own) <- plan.works.zip(moved.works)) {
            val theirs = (0 until work.had).flatMap { p =>
              rowsOf(
                new ProviderRows(
                  work.store,
                  plan.source.folder.path,
                  p,
                  work.version,
                  work.sourceConf,
                  hadoop
                )
              )
            }
            val config = OwnRecords.configOf(own.sourceConf)
            val ours = (0 until own.had).flatMap { p =>
              rowsOf(
                new OwnRows(own.store, moved.source.folder.path, p, own.version, config, hadoop)
              )
            }
            assert(ours.sorted == theirs.sorted, work.name)
            keys += theirs.size
          }
          assert(report.keys == keys)
          assert(keys > 0, "nothing was compared")
        }
      } finally FileUtils.deleteDirectory(folder.toFile)
    }

  /** Each key with its values, as texts of their bytes. */
  private def rowsOf(all: StateRows): Seq[String] =
    try
      all.map { row =>
        val key = row.key.getBytes.mkString(",")
        s"${row.family.name} $key: ${row.values.map(_.getBytes.mkString(",")).mkString(";")}"
      }.toList
    finally all.close()
}

private object GoldenMovesSuite {

  /** What Spark's test jar is unpacked to. */
  private lazy val root: Path =
    Path.of(getClass.getResource("/structured-streaming").toURI)

  /** Those with state. */
  lazy val checkpoints: Seq[Path] =
    Using.resource(Files.walk(root)) { all =>
      all.iterator.asScala
        .filter(folder => Files.isDirectory(folder.resolve("state")))
        .filter(folder => Files.isDirectory(folder.resolve("offsets")))
        // Of a preview of Spark 4.0, which recorded schemas of variables in another form than its releases.
        .filterNot(_.getFileName.toString.startsWith("checkpoint-version-4.0.0-tws"))
        .toSeq
        .sorted
    }

  def hasMetadata(checkpoint: Path): Boolean =
    Files.isDirectory(checkpoint.resolve("state/0/_metadata"))

  def nameOf(checkpoint: Path): String = root.relativize(checkpoint).toString
}
