package io.bucketstate.move

import java.nio.file.Path

import scala.util.matching.Regex

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.functions.{count, lit}

import io.bucketstate.Checkpoints
import io.bucketstate.checkpoint.io.FileManagers
import io.bucketstate.move.job.RowSum
import io.bucketstate.testkit.{ChildJvm, KillingFileManager, Seeds, TidySuite}

/** A move whose process is killed behind any of the files that it publishes; then the same move again. */
class KilledMoveSuite extends TidySuite with CountsToMove {
  import CountsToMove._
  import KilledMoveSuite._

  test("killed behind each file: no query starts on what there is, and the same move is made") {
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source, "hdfs")
      val before = tree(source)
      def move(target: Path, last: Int) =
        ChildJvm.run(DyingMove, source.toString, target.toString, last.toString)

      val whole = folder.resolve("whole")
      val unharmed = move(whole, Int.MaxValue)
      assert(unharmed.exitCode == 0, unharmed.output)
      val files = unharmed.output.linesIterator.collectFirst { case Published(n) => n.toInt }.get
      val expected = read(spark, whole)
      assert(expected.keys == Keys)
      for (last <- Seeds.oneOf(28, 1 to files, 3)) {
        val target = folder.resolve(s"target-$last")
        val died = move(target, last)
        val what = s"file $last of $files"
        assert(died.exitCode == KillingFileManager.ExitCode, s"$what: ${died.output}")
        assert(tree(source) == before, what)
        val isThere = isWhole(target)
        // The query's own file is published last but for the end of the marker.
        assert(isThere == (last >= files - 1), what)
        if (!isThere) {
          val begun = tree(target)
          assert(refusal(spark, target).contains("move_into_this_folder_is_not_finished"), what)
          assert(tree(target) == begun, what)
          assert(request(source, target)(spark).run().keys == Keys, what)
        }
        assert(sums(read(spark, target)) == sums(expected), what)
        assert(names(target) == names(whole), what)
        assert(tree(source) == before, what)
      }
    }
  }

  private def read(spark: SparkSession, checkpoint: Path): MoveReport = Checkpoints
    .plan(spark, MoveRequest(MoveKind.Rewrite, checkpoint.toString, s"$checkpoint-x"))
    .read()

  /** Why no query starts on it. */
  private def refusal(spark: SparkSession, checkpoint: Path): String = {
    import spark.implicits._
    val input = memoryStream[Long](spark)
    input.addData(0L until 100L)
    val error = intercept[Exception] {
      val query = updates(input.toDF().groupBy("value").agg(count(lit(1))), checkpoint)
      try query.processAllAvailable()
      finally query.stop()
    }
    Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).mkString("\n")
  }

  private def sums(report: MoveReport): Seq[RowSum] = report.stores.map(_.kept)
}

private object KilledMoveSuite {
  val Published: Regex = "PUBLISHED ([0-9]+)".r

  /** The files but for those whose names are chance, and what readers do not see. */
  def names(checkpoint: Path): Set[String] =
    CountsToMove
      .tree(checkpoint)
      .keySet
      .filterNot(name =>
        name.endsWith(".sst") || Path.of(name).getFileName.toString.startsWith(".")
      )

  def request(source: Path, target: Path)(spark: SparkSession): MovePlan = Checkpoints.plan(
    spark,
    MoveRequest(MoveKind.Import, source.toString, target.toString, partitions = Some(3))
  )
}

/** Moves: `SOURCE TARGET FILES`. It is killed behind so many files; else it prints how many there were. */
object DyingMove {
  def main(arguments: Array[String]): Unit = {
    val Seq(source, target, last) = arguments.toSeq: @unchecked
    val spark = SparkSession
      .builder()
      .master("local[2]")
      .config("spark.ui.enabled", "false")
      .config("spark.driver.host", "127.0.0.1")
      .config("spark.driver.bindAddress", "127.0.0.1")
      .config(FileManagers.Setting, classOf[KillingFileManager].getName)
      .config(s"spark.hadoop.${KillingFileManager.Setting}", last)
      .getOrCreate()
    try KilledMoveSuite.request(Path.of(source), Path.of(target))(spark).run()
    finally spark.stop()
    Console.out.print(s"PUBLISHED ${KillingFileManager.published.get}\n")
    Console.out.flush()
  }
}
