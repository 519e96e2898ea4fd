package io.bucketstate.plugin

import java.io.InterruptedIOException
import java.net.SocketTimeoutException
import java.nio.channels.ClosedByInterruptException

import com.codahale.metrics.MetricRegistry
import org.scalacheck.Gen
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.bucketstate.config.{MetricKey, MetricType}
import io.bucketstate.error.{MissingException, UnavailableException}
import io.bucketstate.plugin.status._
import io.bucketstate.testkit.TidySuite
import io.bucketstate.watch.{CommitReport, OperatorLabel, StoreLabel, StoreWatch, WatchedStore}

/** What executors tell, how the driver puts it together, and how it is written for Prometheus. */
class StatusSuite extends TidySuite with ScalaCheckPropertyChecks {
  import StatusSuite._

  test("what is sent is what arrives") {
    forAll(statuses)(status => assert(StatusJson.readStatus(StatusJson.write(status)) == status))
    val moved = Set(StoreLabel("run", 1, 2, "left"))
    val known = KnownQueries(Map("run" -> "q"), Set("ended"), hasPartitions = true, moved)
    assert(StatusJson.readQueries(StatusJson.write(known)) == known)
  }

  test("a board counts what commits told, and forgets it with the run") {
    forAll(Gen.listOf(Gen.zip(Gen.choose(0, 3), Gen.choose(0L, 40L), Gen.oneOf(true, false)))) {
      commits =>
        val board = new ExecutorBoard
        val stores = (0 to 3).map(p => store("run", p))
        commits.foreach { case (partition, changed, fails) =>
          if (fails) board.failed(stores(partition), new UnavailableException("a", "b", "c"))
          else board.committed(stores(partition), report(1, Map(MetricKey.ChangedKeys -> changed)))
        }
        val told = commits.filterNot(_._3)
        val status = board.operatorStatus.headOption.getOrElse(OperatorStatus.none(Operator))
        assert(status.counters.getOrElse(MetricKey.ChangedKeys, 0L) == told.map(_._2).sum)
        assert(status.commitTimes.count == told.size)
        assert(status.failures.getOrElse("storage", 0L) == commits.count(_._3))
        assert(board.storeStatus.map(_.commits).sum == told.size)
        assert(board.storeStatus.map(_.changed).sum == told.map(_._2).sum)
        val last = told.groupMapReduce(_._1)(_._2)((_, later) => later)
        assert(board.storeStatus.map(s => s.label.partition -> s.last.changed).toMap == last)
        val stood = board.storeStatus.map(_.closed).toSet
        stores.foreach(board.closed)
        assert(board.storeStatus.toSet == stood)
        assert(board.storeStatus.forall(s => !s.isLoaded && s.memoryBytes == 0))
        assert(board.operatorStatus.size == (if (commits.isEmpty) 0 else 1))
        board.forget(Set("run"))
        assert(board.operatorStatus.isEmpty && board.storeStatus.isEmpty)
    }
  }

  test("a store that is closed late takes nothing of its successor along") {
    val board = new ExecutorBoard
    val (first, second) = (store("run", 0), store("run", 0))
    board.committed(first, report(1))
    board.committed(second, report(2))
    board.closed(first)
    assert(board.storeStatus.map(_.version) == Seq(2))
    board.closed(second)
    assert(board.storeStatus.map(_.version) == Seq(2))
  }

  test("a store that is closed behind each commit stands as it did, and counts on") {
    val board = new ExecutorBoard
    for (version <- 1 to 3) {
      val one = store("run", 0)
      board.committed(one, report(version.toLong, Map(MetricKey.SnapshotLag -> 2L)))
      board.closed(one)
    }
    val status = board.storeStatus
    assert(status.map(s => (s.version, s.commits, s.lag, s.isLoaded)) == Seq((3, 3, 2, false)))
    val figures = Series.of(status, OperatorStatus.none(Operator)).map(s => s.name -> s.value).toMap
    assert(figures("bucketstate_keys") == 1 && figures("bucketstate_snapshot_lag") == 2)
    assert(figures("bucketstate_stores") == 0 && figures("bucketstate_memory_bytes") == 0)
    // It was here again since the driver was told.
    board.forgetMoved(status.map(_.copy(version = 2)))
    assert(board.storeStatus == status)
    board.forgetMoved(status)
    assert(board.storeStatus.isEmpty)
  }

  test("what a task commits after its store was closed counts, and stands for no loaded store") {
    val board = new ExecutorBoard
    val late = store("run", 0)
    StoreWatch.begin(board)
    try {
      late.committing(())((_, _) => report(1))
      assert(board.storeStatus.map(_.version) == Seq(1))
      late.closed()
      late.committing(())((_, _) => report(2))
    } finally StoreWatch.end(board)
    assert(board.storeStatus.map(s => s.version -> s.isLoaded) == Seq(2L -> false))
    assert(board.operatorStatus.map(_.commitTimes.count) == Seq(2))
  }

  test("stores outside of a query leave nothing behind") {
    val board = new ExecutorBoard
    val outside = store("", 0)
    board.committed(outside, report(1))
    board.failed(outside, new RuntimeException)
    board.closed(outside)
    assert(board.storeStatus.isEmpty && board.operatorStatus.isEmpty)
  }

  test("a task that fails counts once against a store that it had open, which may be to blame") {
    val board = new ExecutorBoard
    val its = store("run", 0)
    def unread = new UnavailableException("a", "b", "c")
    StoreWatch.begin(board)
    try {
      val failure = new RuntimeException(unread)
      // It had the version open to read, and to write.
      (1 to 2).foreach(_ => its.taskFailed(failure))
      Seq(new RuntimeException, new InterruptedException).foreach(its.taskFailed)
      assert(board.operatorStatus.map(_.failures) == Seq(Map("storage" -> 1L)))
      val uncommitted = unread
      assertThrows[UnavailableException] {
        its.committing[Unit](throw uncommitted)((_, _) => report(1))
      }
      its.taskFailed(new RuntimeException(uncommitted))
      assertThrows[UnavailableException](its.opening[Unit](throw uncommitted))
    } finally StoreWatch.end(board)
    assert(board.operatorStatus.map(_.failures) == Seq(Map("storage" -> 3L)))
  }

  test("a failure has the kind of the first cause that has one, also in a ring of causes") {
    val missing = new MissingException("a", "b", "c")
    assert(ExecutorBoard.kindOf(new RuntimeException(new RuntimeException(missing))) == "missing")
    val (a, b) = (new RuntimeException("a"), new RuntimeException("b"))
    a.initCause(b)
    b.initCause(a)
    assert(ExecutorBoard.kindOf(a) == "other")
    assert(ExecutorBoard.kindOf(new InterruptedException) == "interrupted")
    def failed(cause: Throwable) = new UnavailableException("a", "b", "c", cause)
    // What Hadoop's clients make of a task that was killed.
    for (cause <- Seq(new InterruptedIOException, new ClosedByInterruptException))
      assert(ExecutorBoard.kindOf(failed(new RuntimeException(cause))) == "interrupted")
    assert(ExecutorBoard.kindOf(failed(new SocketTimeoutException)) == "storage")
  }

  test("the driver shows each partition once, and loses no count with an executor") {
    var now = 0L
    val board = new DriverBoard(() => now, "auto")
    board.began(RunningQuery("run", "id", "counts"))
    val one = executor("1", Seq(status(0, version = 3), status(1, version = 3)), changed = 10)
    board.update(one)
    // Partition 1 has moved; executor 1 has it loaded still.
    board.update(executor("2", Seq(status(1, version = 5)), changed = 7))
    def seen = board.operators.map(v => (v.stores.map(s => s._1 -> s._2.version), changedOf(v)))
    assert(seen == Seq((Seq("1" -> 3L, "2" -> 5L), 17L)))
    board.removed("1")
    assert(seen == Seq((Seq("2" -> 5L), 17L)))
    // What is sent again is the same, not more.
    board.update(executor("2", Seq(status(1, version = 6)), changed = 9))
    assert(seen == Seq((Seq("2" -> 6L), 19L)))
    assert(board.update(one).names == Map("run" -> "counts"))
    board.ended("run")
    now += LastingCounts.KeptNanos
    assert(board.operators.isEmpty)
    assert(board.update(one) == KnownQueries(Map.empty, Set("run"), hasPartitions = true))
  }

  test("a store that was closed is shown until another executor has gone on with it") {
    val board = new DriverBoard(() => 0L, "auto")
    board.began(RunningQuery("run", "id", "counts"))
    def seen = board.operators.flatMap(_.stores).map(s => s._1 -> s._2.version)
    val one = executor("1", Seq(status(0, version = 3).closed, status(1, version = 3)), 10)
    assert(board.update(one).moved.isEmpty)
    assert(seen == Seq("1" -> 3L, "1" -> 3L))
    // The same version twice is of a batch that was run again.
    board.update(executor("2", Seq(status(0, version = 3)), changed = 7))
    assert(seen == Seq("2" -> 3L, "1" -> 3L))
    board.update(executor("2", Seq(status(0, version = 4).closed), changed = 7))
    assert(seen == Seq("2" -> 4L, "1" -> 3L))
    assert(board.update(one).moved == Set(status(0, version = 3).label))
    assert(board.update(executor("2", Seq(status(0, version = 4).closed), 7)).moved.isEmpty)
  }

  test("a report that comes after its executor was removed brings nothing back") {
    var now = 0L
    val board = new DriverBoard(() => now, "auto")
    board.began(RunningQuery("run", "id", "counts"))
    val one = executor("1", Seq(status(0, version = 3)), changed = 10)
    board.update(one)
    board.update(executor("2", Seq(status(1, version = 5)), changed = 7))
    board.removed("1")
    def seen = board.operators.map(v => (v.stores.map(_._1), changedOf(v)))
    val before = seen
    assert(before == Seq((Seq("2"), 17L)))
    // It is answered all the same: it has to forget queries that have ended.
    assert(board.update(one).names == Map("run" -> "counts"))
    assert(seen == before)
    assert(board.executors.map(_.executor) == Seq("2"))
    // One may be removed before it has ever told of itself.
    board.removed("3")
    board.update(executor("3", Nil, changed = 5))
    assert(seen == before)
    board.ended("run")
    assert(seen == Seq((Nil, 17L)))
    now += LastingCounts.KeptNanos
    assert(board.update(one).ended == Set("run"))
  }

  test("gauges of versions behind are the highest of the partitions, others their sum") {
    val stores = Seq(1L, 4L).zipWithIndex.map { case (n, p) =>
      status(p, 1).copy(gauges = Map(MetricKey.SnapshotLag -> n, MetricKey.ColdBytes -> n))
    }
    val series = Series.of(stores, OperatorStatus.none(Operator)).map(s => s.name -> s.value).toMap
    assert(series("bucketstate_snapshot_lag") == 4)
    assert(series("bucketstate_cold_bytes") == 5)
  }

  test("a time is in the unit that its name says, in seconds for Prometheus") {
    val took = OperatorStatus.none(Operator).copy(counters = Map(MetricKey.WriteTime -> 1500L))
    val one = Series.of(Nil, took).find(_.short == "writeTimeMs").get
    assert(one.value == 1500 && one.value * one.unit == 1.5)
    val registry = new MetricRegistry
    val shown = new ExecutorMetrics(registry, () => 0L)
    shown.show(known("run" -> "a.b c"), executor("1", Nil, 0).copy(operators = Seq(took)))
    assert(registry.getGauges.get("a_b_c.operator0.writeTimeMs").getValue == 1500.0)
    shown.show(known(), executor("1", Nil, 0).copy(operators = Seq(took)))
    assert(!registry.getNames.toArray.exists(_.toString.startsWith("a_b_c")))
    val board = new DriverBoard(() => 0L, "auto")
    board.began(RunningQuery("run", "id", "q"))
    board.update(executor("1", Nil, 0).copy(operators = Seq(took)))
    val lines = new PrometheusText("app")(board).linesIterator
    assert(
      lines.exists(l => l.startsWith("bucketstate_write_time_seconds_total{") && l.endsWith(" 1.5"))
    )
  }

  test("each metric has a name of its own for Prometheus") {
    val names = Series.of(Seq(status(0, 1)), OperatorStatus.none(Operator)).map(_.name)
    assert(names.distinct == names)
    names.foreach(name => assert(name.matches("bucketstate_[a-z][a-z0-9_]*"), name))
    assert(MetricKey.WriteTime.prometheus == "bucketstate_write_time_seconds_total")
    assert(MetricKey.ColdBytes.prometheus == "bucketstate_cold_bytes")
  }

  test("Prometheus's text has each metric in one piece, and names that hold anything") {
    forAll(Gen.asciiPrintableStr, Gen.oneOf(0 to 40)) { (name, number) =>
      val partitions = math.abs(number)
      for (setting <- Seq("auto", "query", "partition")) {
        val board = new DriverBoard(() => 0L, setting)
        board.began(RunningQuery("run", "id", name + "\n\"\\"))
        board.update(executor("1", (0 until partitions).map(status(_, 1)), changed = 3))
        val text = new PrometheusText("app")(board)
        val families = text.linesIterator.filter(_.startsWith("# TYPE")).map(_.split(' ')(2)).toSeq
        assert(families.distinct == families)
        val samples = text.linesIterator.filterNot(_.startsWith("#")).toSeq
        samples.foreach(line => assert(Sample.matches(line), line))
        val ofPartitions = samples.count(_.startsWith("bucketstate_partition_keys"))
        assert(ofPartitions == (setting match {
          case "query"     => 0
          case "partition" => partitions
          case _           => if (ofPartitions == 0) 0 else partitions
        }))
        assert(setting != "auto" || samples.count(_.startsWith("bucketstate_partition_")) <= 1000)
      }
    }
  }

  for ((one, other) <- Seq("rides" -> "rides", "a.b" -> "a_b", "a b" -> "a/b"))
    test(s"queries that are named $one and $other have series of their own") {
      val board = new DriverBoard(() => 0L, "partition")
      val both = executor("1", Seq(status(0, 1), of("second", status(0, 2))), changed = 3)
      val told =
        both.copy(operators = both.operators :+ OperatorStatus.none(OperatorLabel("second", 0)))
      def lines =
        new PrometheusText("app")(board).linesIterator
          .filterNot(_.startsWith("#"))
          .map(line => line.take(line.lastIndexOf(' ')))
          .toVector
      val registry = new MetricRegistry
      val metrics = new ExecutorMetrics(registry, () => 0L)
      def shown(): Seq[String] = {
        metrics.show(board.update(told), told)
        registry.getNames.toArray.toSeq.map(_.toString)
      }
      board.began(RunningQuery("run", "id-1", one))
      val names = board.update(told).names
      assert(names == Map("run" -> one))
      val alone = shown()
      val linesAlone = lines
      board.began(RunningQuery("second", "id-2", other))
      assert(lines.diff(lines.distinct).isEmpty)
      assert(lines.count(_.startsWith("bucketstate_keys{")) == 2)
      assert(lines.exists(_.contains(s"""query="$one"""")))
      assert(lines.exists(_.contains(s"""query="$other (id-2)"""")))
      assert(shown().count(_.endsWith(".operator0.keys")) == 2)
      assert(shown().exists(_.endsWith("__id-2_.operator0.keys")))
      // What the first one is called does not depend on the second.
      assert(alone.forall(shown().contains) && linesAlone.forall(lines.contains))
      board.ended("second")
      assert(shown() == alone)
      assert(lines == linesAlone)
    }

  test("a run whose end was never told of gives its name to the next run of its query") {
    var now = 0L
    val board = new DriverBoard(() => now, "auto")
    board.began(RunningQuery("first", "id", "rides"))
    board.began(RunningQuery("run", "id", "rides"))
    val both = executor("1", Seq(of("first", status(0, 2)), status(0, 3)), changed = 1)
    assert(
      board.update(both) == KnownQueries(Map("run" -> "rides"), Set.empty, hasPartitions = true)
    )
    now += LastingCounts.KeptNanos
    assert(
      board.update(both) == KnownQueries(Map("run" -> "rides"), Set("first"), hasPartitions = true)
    )
    assert(board.operators.map(_.query) == Seq(RunningQuery("run", "id", "rides")))
  }

  test("a histogram's bounds hold what was recorded") {
    forAll(Gen.nonEmptyListOf(Gen.choose(0L, 60000000000L))) { nanos =>
      val histogram = nanos.foldLeft(Histogram.Empty)(_.record(_))
      assert(histogram.count == nanos.size && histogram.sumNanos == nanos.sum)
      for (share <- Seq(0.5, 0.95, 0.99)) {
        val exact = nanos.sorted.apply(math.ceil(nanos.size * share).toInt - 1)
        val expected = Histogram.BoundsMs.find(_ * 1000000L >= exact).getOrElse(30000L)
        assert(histogram.atMostMs(share).contains(expected))
      }
    }
    assert(Histogram.Empty.atMostMs(0.5).isEmpty)
  }

  test("what was recorded lately is what came within the window") {
    val second = 1000000000L
    forAll(Gen.listOf(Gen.zip(Gen.choose(1L, 200L), Gen.choose(0L, 20L)))) { steps =>
      var now = 0L
      var all = Histogram.Empty
      var recent = RecentTimes.Empty
      val records = steps.flatMap { case (seconds, count) =>
        now += seconds * second
        (0L until count).foreach(_ => all = all.record(1))
        recent = recent.next(all, now)
        Seq.fill(count.toInt)(now)
      }
      val age = records.map(now - _)
      val window = RecentTimes.WindowNanos
      assert(recent.recorded.count >= age.count(_ < window))
      // The window begins at a look: these are up to 200 s apart, and not each is kept.
      assert(recent.recorded.count <= age.count(_ < window + 210 * second))
      assert(recent.next(all, now + window).next(all, now + 2 * window).recorded.count == 0)
    }
  }

  test("percentiles are of the last minutes, however long the query has run, and have a most") {
    var now = 0L
    val registry = new MetricRegistry
    val metrics = new ExecutorMetrics(registry, () => now)
    var took = OperatorStatus.none(Operator)
    def commits(count: Int, ms: Long): Unit = {
      (0 until count).foreach { _ =>
        took = took.copy(commitTimes = took.commitTimes.record(ms * 1000000L))
      }
      metrics.show(known("run" -> "q"), executor("1", Nil, 0).copy(operators = Seq(took)))
    }
    def gauge(name: String): Option[Any] =
      Option(registry.getGauges.get(s"q.operator0.commit.$name")).map(_.getValue)
    // Two hours with a look each minute.
    for (_ <- 0 until 120) {
      commits(10, ms = 4)
      now += 60000000000L
    }
    assert(gauge("p99Ms").contains(5.0))
    for (_ <- 0 until 60) {
      commits(1, ms = 400)
      now += 5000000000L
    }
    assert(gauge("p50Ms").contains(500.0) && gauge("count").contains(1260.0))
    commits(60, ms = 90000)
    assert(gauge("p99Ms").contains(30000.0))
    // Nothing was committed lately.
    now += RecentTimes.WindowNanos
    commits(0, ms = 0)
    now += RecentTimes.WindowNanos
    commits(0, ms = 0)
    assert(gauge("p50Ms").isEmpty && gauge("count").contains(1320.0))
  }

  test("single partitions are in the registry, too, as long as they are few in the application") {
    for (
      (setting, stores, expected) <- Seq(
        ("auto", 2, true),
        ("auto", 200, false),
        ("query", 2, false),
        ("partition", 200, true)
      )
    ) {
      val board = new DriverBoard(() => 0L, setting)
      board.began(RunningQuery("run", "id", "q"))
      // This executor has one of them; the others are elsewhere.
      board.update(executor("2", (1 until stores).map(status(_, 3)), changed = 0))
      val joined = status(0, 3)
      val named = joined.copy(label = joined.label.copy(name = "left-keyWithIndexToValue"))
      val one = executor("1", Seq(joined.copy(version = 2), joined, named), changed = 0)
      val registry = new MetricRegistry
      new ExecutorMetrics(registry, () => 0L).show(board.update(one), one)
      val its = registry.getNames.toArray.map(_.toString).filter(_.contains("partition")).toSeq
      assert(its.contains("q.operator0.partition0.keys") == expected, setting)
      assert(
        its.contains("q.operator0.partition0.left-keyWithIndexToValue.keys") == expected,
        setting
      )
      if (expected) {
        assert(registry.getGauges.get("q.operator0.partition0.version").getValue == 3.0)
        assert(registry.getGauges.get("q.operator0.keys").getValue == 3.0)
      } else assert(its.isEmpty)
      val lines = new PrometheusText("app")(board).linesIterator
      assert(lines.exists(_.startsWith("bucketstate_partition_")) == expected, setting)
    }
  }
}

private object StatusSuite {
  val Operator: OperatorLabel = OperatorLabel("run", 0)
  private val Sample = """[a-z_]+\{([a-z]+="([^"\\\n]|\\["\\n])*",?)+\} [-+0-9.E]+""".r

  def store(run: String, partition: Int): WatchedStore =
    new WatchedStore(StoreLabel(run, 0, partition, "default"), () => 0L)

  def report(version: Long, values: Map[MetricKey, Long] = Map.empty): CommitReport =
    CommitReport(version, 2000000L, 1, 100, values)

  def status(partition: Int, version: Long): StoreStatus = StoreStatus(
    StoreLabel("run", 0, partition, "default"),
    version,
    1,
    100,
    1,
    1,
    10,
    LastCommit(1, 2000000L),
    Map.empty
  )

  /** The same of another run. */
  def of(run: String, status: StoreStatus): StoreStatus =
    status.copy(label = status.label.copy(run = run))

  def executor(name: String, stores: Seq[StoreStatus], changed: Long): ExecutorStatus =
    ExecutorStatus(
      name,
      1000,
      2000,
      0,
      stores,
      Seq(OperatorStatus.none(Operator).copy(counters = Map(MetricKey.ChangedKeys -> changed)))
    )

  def known(names: (String, String)*): KnownQueries =
    KnownQueries(names.toMap, Set.empty, hasPartitions = false)

  def changedOf(view: OperatorView): Long = view.status.counters(MetricKey.ChangedKeys)

  private val amounts = Gen.choose(0L, Long.MaxValue / 4)
  private val texts = Gen.asciiPrintableStr

  private def values(kind: MetricType): Gen[Map[MetricKey, Long]] =
    Gen.mapOf(
      Gen.zip(
        Gen.oneOf(MetricKey.all.filter(_.metricType == kind)),
        Gen.choose(1L, Long.MaxValue / 4)
      )
    )

  private val stores: Gen[StoreStatus] = for {
    run <- texts
    operator <- amounts
    partition <- Gen.choose(0, Int.MaxValue)
    name <- texts
    numbers <- Gen.listOfN(8, amounts)
    gauges <- values(MetricType.Gauge)
    isLoaded <- Gen.oneOf(true, false)
  } yield StoreStatus(
    StoreLabel(run, operator, partition, name),
    numbers(0),
    numbers(1),
    numbers(2),
    numbers(3),
    numbers(4),
    numbers(5),
    LastCommit(numbers(6), numbers(7)),
    gauges,
    isLoaded
  )

  private val histograms: Gen[Histogram] =
    Gen.listOf(amounts.map(_ % 100000000000L)).map(_.foldLeft(Histogram.Empty)(_.record(_)))

  private val operators: Gen[OperatorStatus] = for {
    run <- texts
    operator <- amounts
    commits <- histograms
    loads <- histograms
    failures <- Gen.mapOf(Gen.zip(Gen.oneOf(ExecutorBoard.Kinds), amounts))
    counters <- values(MetricType.Counter)
  } yield OperatorStatus(OperatorLabel(run, operator), commits, loads, failures, counters)

  val statuses: Gen[ExecutorStatus] = for {
    name <- texts
    memory <- amounts
    limit <- amounts
    queued <- Gen.choose(0, 100)
    its <- Gen.listOf(stores)
    done <- Gen.listOf(operators)
    loaded <- Gen.option(Gen.choose(0, 100))
  } yield ExecutorStatus(name, memory, limit, queued, its.toVector, done.toVector, loaded)
}
