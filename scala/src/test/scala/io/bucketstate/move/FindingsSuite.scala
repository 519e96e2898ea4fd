package io.bucketstate.move

import java.nio.file.{Files, Path}
import java.time.{Clock, Instant, ZoneOffset}

import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.execution.streaming.state.SparkSessions

import io.bucketstate.move.log.{LogText, QueryFolder}
import io.bucketstate.testkit.TidySuite

/** What a plan says of the checkpoint that it is of. */
class FindingsSuite extends TidySuite with CountsToMove {
  import FindingsSuite._

  test("a query that seems to run, a provider that is not known, and why it is that batch") {
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source, "hdfs")
      val last = source.resolve(s"offsets/${CountsToMove.Batch}")
      val planned = LogText.Json
        .readTree(Files.readAllLines(last).get(1))
        .path("batchTimestampMs")
        .asLong
      def plan(ageMs: Long, batch: Option[Long] = None, provider: Option[String] = None) = {
        val clock = Clock.fixed(Instant.ofEpochMilli(planned + ageMs), ZoneOffset.UTC)
        val request = requestOf(source, folder).copy(batch = batch, sourceProvider = provider)
        new Planner(spark, request, None, clock).plan()
      }

      val running = plan(7000L)
      assert(
        warnings(running) == Seq(
          "The query planned its last batch 7 s ago: stop it first. A source that changes is refused."
        )
      )
      assert(running.isPossible)
      val stopped = plan(60000L)
      assert(warnings(stopped).isEmpty)
      assert(stopped.toString.startsWith("import of batch 1, the last one committed (version 2)"))
      // An older batch says nothing of whether the query runs.
      val older = plan(7000L, batch = Some(0L))
      assert(warnings(older).isEmpty)
      assert(older.toString.startsWith("import of batch 0, as asked for (version 1)"))

      val hdfs = CountsToMove.Providers("hdfs")
      Files.writeString(last, Files.readString(last).replace(hdfs, "com.example.Provider"))
      Files.deleteIfExists(last.resolveSibling(s".${last.getFileName}.crc"))
      val foreign = plan(60000L, provider = Some("hdfs"))
      assert(warnings(foreign).size == 1)
      assert(warnings(foreign).head.contains("with the state store provider com.example.Provider"))
      assert(foreign.isPossible)
    }
  }

  test("a source that is itself the half of a move") {
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source, "hdfs")
      val hadoop = SparkSessions.hadoopConf(spark)
      val there = new QueryFolder(new HadoopPath(source.toUri), hadoop, Set.empty)
      try Marker.block(there)
      finally there.close()
      val plan = new Planner(spark, requestOf(source, folder), None, Clock.systemUTC()).plan()
      assert(!plan.isPossible)
      assert(
        plan.findings.filter(_.severity == Severity.Error).map(_.text) == Seq(
          "A move or a rewind of the checkpoint was begun and not finished: finish that first."
        )
      )
    }
  }

  private def requestOf(source: Path, folder: Path) =
    MoveRequest(MoveKind.Import, source.toString, folder.resolve("target").toString)
}

private object FindingsSuite {

  def warnings(plan: PlannedMove): Seq[String] =
    plan.findings.filter(_.severity == Severity.Warning).map(_.text)
}
