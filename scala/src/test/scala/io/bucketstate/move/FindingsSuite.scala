package io.bucketstate.move

import java.nio.file.{Files, Path}
import java.time.{Clock, Instant, ZoneOffset}

import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.SparkSessions

import io.bucketstate.Checkpoints
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

  test("what was begun with another number of partitions is no batch of the query's") {
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      val (last, next) = (CountsToMove.Batch, CountsToMove.Batch + 1)
      begin(source, of = last, as = next)
      def moved(target: String): (PlannedMove, Path) = {
        val request = requestOf(source, folder)
          .copy(kind = MoveKind.Rewrite, target = folder.resolve(target).toString)
        val plan = new Planner(spark, request, None, Clock.systemUTC()).plan()
        Checkpoints.plan(spark, request).run()
        (plan, folder.resolve(target))
      }
      val (rewrite, first) = moved("first")
      assert(rewrite.batch == last)
      assert(infos(rewrite).exists(_.startsWith(s"Batch $next was begun with another number")))
      assert(!infos(rewrite).exists(_.contains("it runs again")))
      assert(!Files.exists(first.resolve(s"offsets/$next")))

      // Spark's repartition commits a batch that has failed, and copies the last good one behind it.
      Files.move(source.resolve(s"offsets/$next"), source.resolve(s"offsets/${next + 1}"))
      val good = Files.readString(source.resolve(s"offsets/$last"))
      assert(good.endsWith("\n1"))
      Files.writeString(source.resolve(s"offsets/$next"), good.stripSuffix("1") + "2")
      Files.copy(source.resolve(s"commits/$last"), source.resolve(s"commits/$next"))
      val (repartition, second) = moved("second")
      assert(repartition.batch == last)
      assert(
        infos(repartition).contains(
          s"Batch $next was planned and is not committed: it runs again, over the target."
        )
      )
      assert(Files.exists(second.resolve(s"offsets/$next")))
      assert(!Files.exists(second.resolve(s"offsets/${next + 1}")))
      assert(!Files.exists(second.resolve(s"commits/$next")))
      assert(
        errors(
          spark,
          source,
          requestOf(source, folder).copy(
            kind = MoveKind.Rewrite,
            target = "",
            partitions = Some(3),
            inPlace = true
          )
        ).exists(_.contains(s"Batch ${next + 1} was begun with another number of partitions"))
      )
    }
  }

  test("a rewind that was begun, and logs that Spark does not leave") {
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      val last = CountsToMove.Batch
      val request = requestOf(source, folder).copy(kind = MoveKind.Rewrite)
      val mark = source.resolve(Marker.Rewind)
      Files.createDirectories(mark.getParent)
      Files.writeString(mark, "{}")
      assert(errors(spark, source, request).exists(_.contains("begun and not finished")))
      Files.delete(mark)
      // A rewind that was stopped deletes commits before it deletes offsets.
      for (later <- Seq(last + 1, last + 2))
        Files.copy(source.resolve(s"offsets/$last"), source.resolve(s"offsets/$later"))
      assert(
        errors(spark, source, request) == Seq(
          s"Batch ${last + 2} was planned, and batch ${last + 1} is not committed: the logs are not as Spark leaves " +
            "them. bucketstate verify says more."
        )
      )
    }
  }

  test("a batch whose earlier one is gone, which no query would start on") {
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      val last = CountsToMove.Batch
      val request = requestOf(source, folder).copy(kind = MoveKind.Rewrite)
      assert(errors(spark, source, request).isEmpty)
      Seq(s"${last - 1}", s".${last - 1}.crc").foreach { name =>
        Files.deleteIfExists(source.resolve(s"offsets/$name"))
      }
      assert(
        errors(spark, source, request) == Seq(
          s"Batch ${last - 1} is in the offset log no more, and Spark starts on batch $last only where it is: start the query, " +
            "and stop it when it has finished another batch."
        )
      )
      // Then it is that batch which Spark looks for.
      Files.copy(source.resolve(s"offsets/$last"), source.resolve(s"offsets/${last + 1}"))
      assert(errors(spark, source, request).isEmpty)
    }
  }

  test("offsets of a log that names the sources are given with their names") {
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      val entry = source.resolve(s"offsets/${CountsToMove.Batch}")
      val lines = Files.readString(entry).split("\n")
      Files.writeString(entry, s"v2\n${lines(1)}\nrides:${lines(2)}")
      Files.deleteIfExists(entry.resolveSibling(s".${entry.getFileName}.crc"))
      def handedOver(offset: String) = {
        val at = StartAt.Lines(Seq(offset))
        val request = requestOf(source, folder).copy(kind = MoveKind.Handover, offsets = Some(at))
        errors(spark, source, request)
      }
      assert(handedOver("rides:{\"t\":{\"0\":23}}").isEmpty)
      for (wrong <- Seq("{\"t\":{\"0\":23}}", "trips:{\"t\":{\"0\":23}}", "23"))
        assert(handedOver(wrong).exists(_.contains("(rides)")), wrong)
    }
  }

  test("sources that begin where their own options say may skip what came meanwhile") {
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      val entry = source.resolve(s"offsets/${CountsToMove.Batch}")
      val settings = Files.readString(entry).split("\n")(1)
      def logged(version: String, offset: String): Unit = {
        Files.deleteIfExists(entry.resolveSibling(s".${entry.getFileName}.crc"))
        Files.writeString(entry, s"$version\n$settings\n$offset")
        ()
      }
      def said(at: StartAt): Seq[String] = {
        val request = requestOf(source, folder).copy(kind = MoveKind.Handover, offsets = Some(at))
        val plan = new Planner(spark, request, None, Clock.systemUTC()).plan()
        assert(infos(plan).exists(_.startsWith("Sources begin anew")))
        warnings(plan).filter(_.contains("set startingOffsets"))
      }
      val offset = "{\"t\":{\"0\":23}}"
      logged("v1", offset)
      assert(said(StartAt.Options).size == 1)
      assert(said(StartAt.Options).head.contains("a stream of Kafka begins with the latest"))
      assert(said(StartAt.Lines(Seq("-"))).size == 1)
      assert(said(StartAt.Lines(Seq(offset))).isEmpty)
      logged("v2", s"rides:$offset")
      assert(said(StartAt.Options).size == 1)
      assert(said(StartAt.Lines(Seq("rides:-"))).size == 1)
      assert(said(StartAt.Lines(Seq(s"rides:$offset"))).isEmpty)
    }
  }

  /** The entry of a batch as that of another one, in other partitions. */
  private def begin(source: Path, of: Int, as: Int): Unit = {
    val text = Files.readString(source.resolve(s"offsets/$of"))
    val changed = text.replace(
      "\"spark.sql.shuffle.partitions\":\"2\"",
      "\"spark.sql.shuffle.partitions\":\"5\""
    )
    assert(changed != text)
    Files.writeString(source.resolve(s"offsets/$as"), changed)
    ()
  }

  private def errors(spark: SparkSession, source: Path, request: MoveRequest): Seq[String] =
    new Planner(spark, request.copy(source = source.toString), None, Clock.systemUTC())
      .plan()
      .findings
      .filter(_.severity == Severity.Error)
      .map(_.text)

  private def infos(plan: PlannedMove): Seq[String] =
    plan.findings.filter(_.severity == Severity.Info).map(_.text)

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
