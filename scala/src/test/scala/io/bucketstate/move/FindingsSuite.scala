package io.bucketstate.move

import java.nio.file.{Files, Path}
import java.time.{Clock, Instant, ZoneOffset}

import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.execution.streaming.state.SparkSessions

import io.bucketstate.error.InvalidException
import io.bucketstate.move.log.{LogText, QueryFolder}
import io.bucketstate.testkit.TidySuite

/** What a plan says of the checkpoint that it is of. */
class FindingsSuite extends TidySuite with CountsToMove {
  import CountsToMove.tree
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

  test("what a kind of move is not for, what it lacks, and what does not go with it") {
    withSession() { (spark, folder) =>
      val (ours, hdfs) = (folder.resolve("ours"), folder.resolve("hdfs"))
      countInto(spark, ours)
      countInto(spark, hdfs, "hdfs")
      val before = (tree(ours), tree(hdfs))
      def request(kind: MoveKind, source: Path) = requestOf(source, folder).copy(kind = kind)
      def planned(request: MoveRequest) =
        new Planner(spark, request, None, Clock.systemUTC()).plan()
      val wrong = Seq(
        request(MoveKind.Import, ours) -> "is bucketstate's already: use rewrite",
        request(MoveKind.Import, hdfs).copy(to = "rocksdb") -> "use export, with --to",
        request(MoveKind.Export, ours) -> "give --to rocksdb or --to hdfs",
        request(MoveKind.Rewrite, hdfs) -> "use import or export",
        request(MoveKind.Upsert, hdfs) -> "import the state first",
        request(MoveKind.Upsert, ours) -> "An upsert takes rows: give --from, or a DataFrame",
        request(MoveKind.Rewrite, ours)
          .copy(rows = Some(hdfs.toString)) -> "Rows are for an upsert",
        request(MoveKind.Handover, ours) -> "give --offsets",
        request(MoveKind.Handover, ours).copy(offsets = Some(StartAt.Lines(Seq("0", "1")))) ->
          "has 1 sources, and 2 offsets were given",
        request(MoveKind.Export, ours)
          .copy(to = "hdfs", format = Some(2)) -> "leave out --format 2",
        request(MoveKind.Rewrite, ours).copy(target = "", inPlace = true, partitions = Some(2)) ->
          "in 2 partitions already, and only another number"
      )
      for ((asked, said) <- wrong) {
        val plan = planned(asked)
        val errors = plan.findings.filter(_.severity == Severity.Error).map(_.text)
        assert(!plan.isPossible && errors.exists(_.contains(said)), s"$asked: $errors")
      }
      val refused = Seq(
        request(MoveKind.Import, folder) -> "it has no folder 'offsets'",
        request(MoveKind.Import, hdfs).copy(batch = Some(9L)) -> "has no finished batch 9",
        request(MoveKind.Rewrite, ours).copy(deleteKeys = Some("true"), operator = Some(7L)) ->
          "has no operator 7"
      )
      for ((asked, said) <- refused)
        assert(intercept[InvalidException](planned(asked)).getMessage.contains(said))
      assert((tree(ours), tree(hdfs)) == before)
    }
  }

  private def requestOf(source: Path, folder: Path) =
    MoveRequest(MoveKind.Import, source.toString, folder.resolve("target").toString)
}

private object FindingsSuite {

  def warnings(plan: PlannedMove): Seq[String] =
    plan.findings.filter(_.severity == Severity.Warning).map(_.text)
}
