package io.bucketstate.conformance

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.xml.{Elem, XML}

/** Writes `docs/conformance.md` from ScalaTest's reports of a run of all suites. */
object Report {

  /** @param suite simple name of this project's class; `spark` of the one it extends */
  private final case class Row(
      suite: String,
      spark: String,
      passed: Int,
      failed: Int,
      leftOut: Int,
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
    val leftOut = skipped.count(t => (t \ "@name").text.endsWith(" (excluded)"))
    Row(
      name.split('.').last,
      sparks(name.split('.').last),
      run.size - failed,
      failed,
      leftOut,
      skipped.size - leftOut
    )
  }

  private def page(rows: Seq[Row]): String = {
    val lines = rows.map(row => line(row.spark, Seq(row))) :+ line("all", rows)
    val reasons = Exclusions.all.groupBy(_.reason).toSeq.sortBy(_._1).map { case (reason, all) =>
      val tests = for {
        exclusion <- all
        test <- exclusion.tests
      } yield s"  - $test (${exclusion.suites.map(sparks).distinct.mkString(", ")})"
      s"- $reason\n\n${tests.mkString("\n")}\n"
    }
    Seq(Introduction, Head + lines.mkString("\n"), LeftOut, reasons.mkString("\n")).mkString("\n\n")
  }

  private def line(name: String, rows: Seq[Row]): String = {
    val numbers = Seq[Row => Int](_.passed, _.failed, _.leftOut, _.ignored).map(rows.map(_).sum)
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

  private val Introduction =
    """# Spark's own tests on this provider
      |
      |`make conformance` runs these suites of Spark 4.2's tests (the artifacts `spark-sql`, `spark-core` and
      |`spark-catalyst` with the classifier `tests`) with this provider in place of Spark's own two, wherever a
      |test names one, and with its session extension, and writes this page. `make test` runs a quick part of
      |them.""".stripMargin

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
