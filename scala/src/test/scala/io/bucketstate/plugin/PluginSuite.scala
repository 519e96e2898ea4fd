package io.bucketstate.plugin

import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.net.{InetAddress, ServerSocket, URI}
import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.SparkEnv
import org.apache.spark.api.plugin.{DriverPlugin, ExecutorPlugin, SparkPlugin}
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.StoreMaintenance
import org.apache.spark.ui.bucketstate.{HistoryOfSpark, MetricNamesOfSpark}
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.plugin.queries.BoardJson
import io.bucketstate.spark.BuiltForSpark
import io.bucketstate.testkit.{
  Damage,
  DigitCounts,
  ForklessSettings,
  LeftOvers,
  LiveFolder,
  ProviderHarness,
  Seeds,
  TidySuite,
  Warnings
}
import io.bucketstate.{BucketedStateStoreProvider, BucketstateExtensions, BucketstatePlugin}

/** The plugin in real local applications, which have nothing else of this project. */
class PluginSuite extends TidySuite with DigitCounts with Eventually {
  import PluginSuite._

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(Span(60, Seconds), Span(50, Millis))

  test("one setting turns everything on") {
    withPlugin() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(counts(input.toDS()), "counts", folder)
      addAndWait(input, query, 0 until 20)
      assert(found(spark, "counts") == expected(20))
      assert(metric(query, "bucketedChangedKeys") == 5)
      val rules = spark.sessionState.columnarRules.map(_.getClass.getName)
      assert(rules.exists(_.contains("BuiltForSparkRule")))
      query.stop()
    }
  }

  test("what a user has set stays") {
    val other = classOf[NoExtension].getName
    withPlugin(TurnedOn.Provider -> Rocksdb, TurnedOn.Extensions -> other) { (spark, _) =>
      assert(spark.conf.get(TurnedOn.Provider) == Rocksdb)
      assert(
        spark.sparkContext.getConf.get(TurnedOn.Extensions) ==
          s"${classOf[BucketstateExtensions].getName},$other"
      )
      assert(!spark.sparkContext.getConf.contains(TurnedOn.Charts))
    }
  }

  test(
    "the stores are measured where Prometheus looks, and in Spark's registry, until the query ends"
  ) {
    withPlugin() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(counts(input.toDS()), "by_digit", folder)
      addAndWait(input, query, 0 until 20)
      addAndWait(input, query, 20 until 30)
      eventually {
        val lines = scraped(spark)
        val its =
          s"""{application="${spark.sparkContext.applicationId}",query="by_digit",operator="0"}"""
        assert(lines.contains(s"bucketstate_keys$its 5"))
        assert(lines.contains(s"bucketstate_stores$its 2"))
        assert(lines.contains(s"bucketstate_changed_keys_total$its 10"))
        assert(lines.contains(s"bucketstate_commit_seconds_count$its 4"))
        assert(lines.count(_.startsWith("bucketstate_partition_keys{")) == 2)
        val names = registered
        assert(names.exists(_.endsWith("BucketstatePlugin.by_digit.operator0.keys")), names)
        assert(names.exists(_.endsWith(".by_digit.operator0.partition1.keys")), names)
        assert(names.exists(_.endsWith("BucketstatePlugin.memoryBytes")), names)
      }
      query.stop()
      eventually {
        // What it had counted is there yet, how it stood is not.
        val lines = scraped(spark).filter(_.contains("by_digit"))
        assert(lines.exists(l => l.startsWith("bucketstate_changed_keys_") && l.endsWith(" 10")))
        assert(!lines.exists(_.matches("bucketstate_(keys\\{|partition_).*")))
        assert(!registered.exists(_.contains("by_digit")))
      }
    }
  }

  test("queries that fail again and again are counted, and leave nothing behind") {
    val rounds = Seeds.of(3, 5)
    withPlugin() { (spark, folder) =>
      import spark.implicits._
      val before = registered.toSet
      for (round <- 0 until rounds) {
        val input = memoryStream[Int](spark)
        val failing = input.toDS().map(n => if (n == Bad) sys.error("this is a test") else n)
        val query = start(counts(failing), s"failing_$round", folder)
        addAndWait(input, query, 0 until 20)
        eventually(assert(scraped(spark).exists(_.contains(s"failing_$round"))))
        input.addData(Bad)
        eventually(assert(query.exception.nonEmpty))
      }
      eventually {
        assert(!scraped(spark).exists(l => l.startsWith("bucketstate_keys{")))
        assert(registered.toSet == before)
      }
      // The tab still has them, as what has ended.
      val page = read(spark, "/State/")
      assert((0 until rounds).forall(round => page.contains(s">failing_$round</a>")))
    }
  }

  test("the tab State shows a query as it runs, and from the event log when all has ended") {
    ProviderHarness.withFolder { logs =>
      var application = ""
      // The last report alone.
      withPlugin(loggedIn(logs) :+ ("spark.bucketstate.ui.logInterval" -> "3600000"): _*) {
        (spark, folder) =>
          import spark.implicits._
          application = spark.sparkContext.applicationId
          assert(read(spark, "/State/").contains("No query with state has run a batch yet."))
          val input = memoryStream[Int](spark)
          val query = start(counts(input.toDS()), "shown", folder)
          addAndWait(input, query, 0 until 20)
          addAndWait(input, query, 20 until 30)
          eventually {
            val first = read(spark, "/State/")
            assert(first.contains(">shown</a>") && first.contains(">running</td>"))
            val page = read(spark, s"/State/query/?run=${query.runId}")
            assert(page.contains("State of shown"))
            assert(page.contains("Operator 0: stateStoreSave"))
            assert(page.contains("Keys: It is even") && page.contains("All 2 stores"))
            assert(page.contains("It replays 4 changelogs with about 10 updates"))
            assert(page.contains("1 batches after the first say too little, 5 are needed."))
          }
          query.stop()
          eventually(assert(read(spark, "/State/").contains(">ended</td>")))
          assert(read(spark, "/State/query/?run=x").contains("There is no run x"))
      }
      val lines = Files.readAllLines(logs.resolve(application)).asScala.toSeq
      val (before, after) = lines.splitAt(lines.indexWhere(_.contains("QueryTerminatedEvent")))
      for (history <- Seq(HistoryOfSpark.of(lines), HistoryOfSpark.of(before, after))) {
        assert(history.tabs.contains("State"))
        val queries = BoardJson.read(history.kept.get).queries
        val query = queries.head
        assert(queries.size == 1)
        assert(query.name == "shown" && query.end.nonEmpty && query.seen == 2)
        assert(query.stores.map(_.status.version) == Seq(2, 2))
        assert(query.stores.map(_.status.keys).sum == 5 && query.stores.map(_.status.lag).sum == 4)
      }
      // An application without state has no such tab.
      val without = HistoryOfSpark.of(lines.filterNot(_.contains("sql.streaming")))
      assert(!without.tabs.contains("State") && without.tabs.contains("Jobs"))
    }
  }

  test("the event log has the stores of a query that was over before executors told of it") {
    ProviderHarness.withFolder { logs =>
      var application = ""
      withPlugin(loggedIn(logs) :+ ("spark.bucketstate.metrics.interval" -> "3600000"): _*) {
        (spark, folder) =>
          import spark.implicits._
          application = spark.sparkContext.applicationId
          val input = memoryStream[Int](spark)
          val query = start(counts(input.toDS()), "short", folder)
          addAndWait(input, query, 0 until 20)
          query.stop()
      }
      val lines = Files.readAllLines(logs.resolve(application)).asScala.toSeq
      val queries = BoardJson.read(HistoryOfSpark.of(lines).kept.get).queries
      assert(queries.map(_.name) == Seq("short") && queries.head.end.nonEmpty)
      assert(queries.head.stores.map(_.status.version) == Seq(1, 1))
      assert(queries.head.stores.map(_.status.keys).sum == 5)
    }
  }

  test("without a web UI and an event log nobody listens for the tab") {
    withPlugin("spark.ui.enabled" -> "false") { (spark, folder) =>
      import spark.implicits._
      assert(spark.sparkContext.uiWebUrl.isEmpty)
      val settings = PluginSettings.read(spark.sparkContext.getConf)
      assert(StateTab.begin(spark.sparkContext, settings).isEmpty)
      val input = memoryStream[Int](spark)
      val query = start(counts(input.toDS()), "unseen", folder)
      addAndWait(input, query, 0 until 20)
      query.stop()
    }
  }

  test("without the tab there is none") {
    withPlugin("spark.bucketstate.ui.enabled" -> "false") { (spark, _) =>
      assert(!read(spark, "/jobs/").contains("/State/"))
      // There is nothing to scrape before an executor has told something.
      eventually(assert(scraped(spark).nonEmpty))
    }
  }

  test("a failure of a store is scraped after it has ended its query, and when that runs again") {
    withPlugin() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(counts(input.toDS()), "broken", folder)
      addAndWait(input, query, 0 until 20)
      addAndWait(input, query, 20 until 30)
      query.stop()
      StoreMaintenance.stop()
      val state = folder.resolve("broken/state/0/0")
      val aside = folder.resolve("aside")
      Files.move(state, aside)
      Files.createDirectory(state)
      def failures: Seq[String] = scraped(spark).filter { line =>
        line.startsWith("bucketstate_failures_total{") && line.contains("broken") &&
        line.contains("missing") && !line.endsWith(" 0")
      }
      val failing = start(counts(input.toDS()), "broken", folder)
      input.addData(1)
      eventually(assert(failing.exception.nonEmpty))
      eventually(assert(failures.size == 1))
      val seen = failures
      ProviderHarness.deleteAll(state)
      Files.move(aside, state)
      val again = start(counts(input.toDS()), "broken", folder)
      addAndWait(input, again, 0 until 10)
      eventually(assert(scraped(spark).exists(_.startsWith("bucketstate_keys{"))))
      assert(failures == seen)
      again.stop()
    }
  }

  test("what a batch cannot read of its state is a failure of the store, one for each attempt") {
    val own = "spark.sql.streaming.stateStore"
    withPlugin(
      "spark.sql.shuffle.partitions" -> "1",
      s"$own.autoSnapshotRepair.enabled" -> "false",
      s"$own.bucketed.snapshot.mode" -> "sync",
      s"$own.bucketed.snapshot.maxVersions" -> "1"
    ) { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(counts(input.toDS()), "unread", folder)
      (0 until 3).foreach(batch => addAndWait(input, query, 20 * batch until 20 * batch + 20))
      query.stop()
      StoreMaintenance.stop()
      val runs = LiveFolder.paths(folder).filter(_.toString.endsWith(".sst"))
      assert(runs.nonEmpty)
      // Keys come first in it, and what a version is opened by comes last.
      runs.foreach(Damage.at(_, 10))
      val failing = start(counts(input.toDS()), "unread", folder)
      input.addData(1)
      eventually(assert(failing.exception.nonEmpty))
      eventually {
        val failures = scraped(spark).filter { line =>
          line.startsWith("bucketstate_failures_total{") && line.contains("unread")
        }
        assert(failures.size == 1 && failures.head.contains("damaged"), failures)
        assert(failures.head.endsWith(" 1"), failures)
      }
    }
  }

  test("where the web UI's port is taken, the log names the address that metrics have") {
    Using.resource(new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) { taken =>
      var url = ""
      val warnings = Warnings.during(classOf[DriverSide].getName) {
        withPlugin("spark.ui.port" -> taken.getLocalPort.toString) { (spark, _) =>
          url = spark.sparkContext.uiWebUrl.get + DriverSide.Path
          eventually(assert(scraped(spark).nonEmpty))
        }
      }
      assert(warnings.size == 1)
      assert(warnings.head.startsWith(s"Port ${taken.getLocalPort} was taken"))
      assert(warnings.head.contains(s" $url. Give this application a spark.ui.port"))
    }
    assert(Warnings.during(classOf[DriverSide].getName)(withPlugin()((_, _) => ())).isEmpty)
  }

  test("another run of a query goes on counting under its name") {
    withPlugin() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      for (round <- 1 to 2) {
        val query = start(counts(input.toDS()), "again", folder)
        addAndWait(input, query, 0 until 10)
        eventually {
          assert(
            scraped(spark).exists(line =>
              line.startsWith("bucketstate_version{") && line.endsWith(s" $round")
            )
          )
          assert(
            scraped(spark).exists(line =>
              line.startsWith("bucketstate_commit_seconds_count{") && line.endsWith(
                s" ${2 * round}"
              )
            )
          )
        }
        query.stop()
      }
    }
  }

  test("a process is warmed up unless it is turned off, or has another provider") {
    val threads = Seq(
      Seq("spark.bucketstate.jvmWarmUp" -> "60000"),
      Nil,
      Seq("spark.bucketstate.jvmWarmUp" -> "60000", TurnedOn.Provider -> Rocksdb)
    ).map { settings =>
      var found = 0
      withPlugin(settings: _*)((_, _) => found = LeftOvers.threads.count(_.endsWith("warm-up")))
      eventually(assert(!LeftOvers.threads.exists(_.endsWith("warm-up"))))
      found
    }
    assert(threads == Seq(1, 0, 0))
  }

  test("what fails in the plugin fails nothing else") {
    withPlugin("spark.bucketstate.metrics.interval" -> "soon") { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(counts(input.toDS()), "unharmed", folder)
      addAndWait(input, query, 0 until 20)
      assert(found(spark, "unharmed") == expected(20))
      assert(metric(query, "bucketedChangedKeys") == 5)
      query.stop()
    }
  }

  test("a jar for another Spark is an error in the log, once, and leaves the application alone") {
    val said = Warnings.during("io.bucketstate") {
      withPlugin(
        "spark.plugins" -> classOf[ForeignPlugin].getName,
        "spark.bucketstate.jvmWarmUp" -> "2000"
      ) { (spark, _) =>
        assert(spark.range(10).count() == 10)
        // It is turned on all the same: a query says what is wrong instead of going on with another provider.
        assert(spark.conf.get(TurnedOn.Provider) == classOf[BucketedStateStoreProvider].getName)
      }
    }
    assert(said.size == 1)
    assert(
      said.head.contains("and Spark 4.99.1 runs. Put bucketstate-spark-4.99_2.13 in its place")
    )
  }

  test("Spark's own page draws the metrics that are set for it") {
    withPlugin() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Int](spark)
      val query = start(counts(input.toDS()), "drawn", folder)
      (1 to 3).foreach(n => addAndWait(input, query, 0 until n))
      eventually {
        val page = read(spark, s"/StreamingQuery/statistics/?id=${query.runId}")
        TurnedOn.Charted.foreach(key => assert(page.contains(s"aggregated-${key.name}-timeline")))
      }
      query.stop()
    }
  }

  /** Settings with which the event log is one file in that folder, in plain text. */
  private def loggedIn(logs: Path): Seq[(String, String)] = Seq(
    "spark.eventLog.enabled" -> "true",
    "spark.eventLog.dir" -> logs.toUri.toString,
    "spark.eventLog.rolling.enabled" -> "false",
    "spark.eventLog.compress" -> "false"
  )

  private def withPlugin(settings: (String, String)*)(body: (SparkSession, Path) => Unit): Unit =
    ProviderHarness.withFolder { folder =>
      val builder = SparkSession
        .builder()
        .master("local[2]")
        .config("spark.plugins", classOf[BucketstatePlugin].getName)
        .config("spark.bucketstate.metrics.interval", "100")
        .config("spark.bucketstate.jvmWarmUp", "0")
        .config("spark.ui.port", "0")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "2")
      (ForklessSettings.all ++ settings).foreach { case (key, value) =>
        builder.config(key, value)
      }
      val spark = builder.getOrCreate()
      try {
        if (!settings.exists(_._1 == TurnedOn.Provider)) {
          assert(spark.conf.get(TurnedOn.Provider) == classOf[BucketedStateStoreProvider].getName)
        }
        body(spark, folder)
      } finally {
        spark.stop()
        StoreMaintenance.stop()
      }
    }

  private def scraped(spark: SparkSession): Seq[String] =
    read(spark, DriverSide.Path).linesIterator.toSeq

  private def read(spark: SparkSession, path: String): String = {
    val uri = URI.create(spark.sparkContext.uiWebUrl.get + path)
    val answer = HttpClient.newHttpClient
      .send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString)
    assert(answer.statusCode == 200, answer.body)
    answer.body
  }

  private def registered: Seq[String] =
    MetricNamesOfSpark.all(SparkEnv.get).asScala.toSeq.filter(_.contains("BucketstatePlugin"))
}

object PluginSuite {

  /** A row that a query fails with. */
  private val Bad = -1

  private val Rocksdb = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

  /** The plugin of a jar that is for another Spark than 4.99. */
  final class ForeignPlugin extends SparkPlugin {
    private[this] val plugin = new Plugin(
      classOf[BucketedStateStoreProvider].getName,
      classOf[BucketstateExtensions].getName,
      () => new BucketedStateStoreProvider,
      () => BuiltForSpark.require("4.99.1")
    )

    override def driverPlugin(): DriverPlugin = plugin.driver

    override def executorPlugin(): ExecutorPlugin = plugin.executor.orNull
  }

  final class NoExtension extends (org.apache.spark.sql.SparkSessionExtensions => Unit) {
    override def apply(extensions: org.apache.spark.sql.SparkSessionExtensions): Unit = ()
  }
}
