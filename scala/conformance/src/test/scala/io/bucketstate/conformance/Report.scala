package io.bucketstate.conformance

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.xml.{Elem, XML}

import org.apache.spark.SPARK_VERSION

/** Writes a page of `docs/` from ScalaTest's reports of a run of suites, and of it alone. */
object Report {

  /**
   * @param suite   simple name of this project's class; `spark` of the one it extends
   * @param leftOut names of tests
   */
  private final case class Row(
      suite: String,
      spark: String,
      passed: Int,
      failed: Int,
      leftOut: Set[String],
      ignored: Int
  )

  def main(args: Array[String]): Unit = {
    val (reports, target) = (Path.of(args(0)), Path.of(args(1)))
    val rows = Using
      .resource(Files.list(reports))(_.iterator.asScala.toSeq)
      .filter(_.toString.endsWith(".xml"))
      .map(file => row(XML.loadFile(file.toFile)))
      .sortBy(_.suite)
    Files.writeString(target, page(rows))
    ()
  }

  private def row(report: Elem): Row = {
    val name = (report \ "@name").text
    val tests = report \ "testcase"
    val (skipped, run) = tests.partition(t => (t \ "skipped").nonEmpty)
    val failed = run.count(t => (t \ "failure").nonEmpty || (t \ "error").nonEmpty)
    val leftOut = skipped.map(t => (t \ "@name").text).filter(_.endsWith(LeftOutMark))
    Row(
      name.split('.').last,
      sparks(name.split('.').last),
      run.size - failed,
      failed,
      leftOut.map(_.stripSuffix(LeftOutMark)).toSet,
      skipped.size - leftOut.size
    )
  }

  private def page(rows: Seq[Row]): String = {
    val lines = rows.map(row => line(row.spark, Seq(row))) :+ line("all", rows)
    val bySuite = rows.map(row => row.suite -> row).toMap
    val reasons = for {
      (reason, all) <- Exclusions.all.groupBy(_.reason).toSeq.sortBy(_._1)
      tests =
        for {
          exclusion <- all
          test <- exclusion.tests
          names = OnBucketstate.namesOf(test)
          in = exclusion.suites.flatMap(bySuite.get).filter(row => names.exists(row.leftOut))
          if in.nonEmpty
        } yield s"  - $test (${in.map(_.spark).distinct.mkString(", ")})"
      if tests.nonEmpty
    } yield s"- $reason\n\n${tests.mkString("\n")}\n"
    Seq(Introduction, Head + lines.mkString("\n"), LeftOut, reasons.mkString("\n")).mkString("\n\n")
  }

  private def line(name: String, rows: Seq[Row]): String = {
    val numbers =
      Seq[Row => Int](_.passed, _.failed, _.leftOut.size, _.ignored).map(rows.map(_).sum)
    s"| $name | ${numbers.mkString(" | ")} |"
  }

  /** The suite of Spark's that one of ours runs. */
  private def sparks(suite: String): String = {
    val parents = Iterator.iterate[Class[_]](Class.forName(s"${getClass.getPackageName}.$suite"))(
      _.getSuperclass
    )
    val name = parents.find(_.getPackageName != getClass.getPackageName).get.getSimpleName
    if (suite.endsWith("Format2Suite")) s"$name, checkpoint format 2"
    else if (suite.endsWith("RowChecksumSuite") && !name.endsWith("RowChecksum")) {
      s"$name, row checksums"
    } else name
  }

  private val LeftOutMark = " (excluded)"

  private val Spark = SPARK_VERSION.split('.').take(2).mkString(".")

  private val Introduction =
    s"""# Spark $Spark's own tests on this provider
       |
       |`make conformance SPARK=$Spark` runs these suites of Spark $Spark's tests (the artifacts `spark-sql`, `spark-core`
       |and `spark-catalyst` with the classifier `tests`) with this provider in place of Spark's own two, wherever a
       |test names one, and with its session extension, and writes this page. `make test SPARK=$Spark` runs the quick
       |ones.""".stripMargin

  private val Head =
    """|| suite | passed | failed | left out | ignored by Spark |
       ||---|---|---|---|---|
       |""".stripMargin

  private val LeftOut =
    """## Left out
      |
      |Tests that are about another provider, or about none and cannot run on Spark's published artifacts, each with
      |its reason and the suites it is in:""".stripMargin
}
