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
      Class.forName(name).getSuperclass.getSimpleName,
      run.size - failed,
      failed,
      leftOut,
      skipped.size - leftOut
    )
  }

  private def page(rows: Seq[Row]): String = {
    val table = rows.map { r =>
      s"| ${r.spark} | ${r.passed} | ${r.failed} | ${r.leftOut} | ${r.ignored} |"
    }
    val reasons = Exclusions.all.map { exclusion =>
      val tests = exclusion.tests.map(test => s"  - $test")
      (s"- ${exclusion.reason} (${exclusion.suites.map(sparks).mkString(", ")})" +: tests)
        .mkString("\n")
    }
    s"""# Spark's own tests on this provider
       |
       |`make conformance` runs these suites of Spark 4.2's tests (the artifacts `spark-sql`, `spark-core` and
       |`spark-catalyst` with the classifier `tests`) with this provider in place of Spark's own two, wherever a
       |test names one, and writes this page. `make test` runs a quick part of them.
       |
       || suite | passed | failed | left out | ignored by Spark |
       ||---|---|---|---|---|
       |${table.mkString("\n")}
       || all | ${rows.map(_.passed).sum} | ${rows.map(_.failed).sum} | ${rows
        .map(_.leftOut)
        .sum} | ${rows.map(_.ignored).sum} |
       |
       |## Left out
       |
       |Tests that are about another provider, each with its reason:
       |
       |${reasons.mkString("\n")}
       |""".stripMargin
  }

  private def sparks(suite: String): String =
    Class.forName(s"${getClass.getPackageName}.$suite").getSuperclass.getSimpleName
}
