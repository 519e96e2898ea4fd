package io.bucketstate.bench
package restart

import io.bucketstate.spark.SparkSettings

/** Of a few measurements: what was usual, and what was worst. */
final case class MedianMax(median: Double, max: Double)

object MedianMax {
  def of(values: Seq[Double]): MedianMax = MedianMax(Median.of(values), values.max)
}

/**
 * One provider's restarts of one case, in milliseconds.
 *
 * @param tail            changelogs after the newest snapshot
 * @param jvm             what it had done before, in the words of its [[RestartCondition]]
 * @param bytesPerVersion size of one of them
 * @param libraryIn       where RocksDB's native library was loaded, see [[RestartSample]]
 * @param libraryMs       how long that takes by itself, if it is loaded; a part of what it was loaded in
 */
final case class RestartResult(
    provider: String,
    keys: Int,
    tail: Int,
    jvm: String,
    bytesPerVersion: Double,
    initMs: MedianMax,
    firstGetMs: MedianMax,
    firstGetCpuMs: MedianMax,
    firstBatchMs: MedianMax,
    libraryIn: String,
    libraryMs: Option[MedianMax],
    loadOfOthers: Double
) {
  def loadsLibrary: Boolean = libraryIn != LibraryWatch.Never
}

object RestartResult {
  def of(
      provider: String,
      keys: Int,
      tail: Int,
      condition: RestartCondition,
      bytesPerVersion: Double,
      rounds: Seq[RestartSample]
  ): RestartResult = RestartResult(
    provider,
    keys,
    tail,
    condition.words,
    bytesPerVersion,
    MedianMax.of(rounds.map(_.initMs)),
    MedianMax.of(rounds.map(_.firstGetMs)),
    MedianMax.of(rounds.map(_.firstGetCpuMs)),
    MedianMax.of(rounds.map(_.firstBatchMs)),
    rounds.map(_.libraryIn).distinct.mkString(" or "),
    None,
    Median.of(rounds.map(_.loadOfOthers))
  )
}

/** The restarts as a table, and what the project set out to reach. */
object RestartReport {

  def render(results: Seq[RestartResult], library: MedianMax, options: BenchOptions): String = {
    val head = s"A JVM of its own for each restart, ${options.rounds} round(s), the first batch " +
      s"${options.updates} random get+put; seed ${options.seed}.\n" +
      "In a Spark application: a local Spark has run a batch query with a shuffle in the JVM before.\n" +
      "'bucketed-rocksdb-local' finds the local files of the JVM before; nobody else finds any.\n" +
      "'eager' waits in its first get until everything is in memory, as hdfs does.\n" +
      f"RocksDB's native library by itself: ${library.median}%.0f ms, at most ${library.max}%.0f."
    val parts = Seq(head, table(results)) ++ defaultTails(results)
    (parts ++ Report.targetTable(targets(results))).mkString("\n\n")
  }

  def targets(results: Seq[RestartResult]): Seq[TargetOutcome] =
    ofHeapEngine(results) ++
      ratios(results, Contender.native, firstGet = 0.25) ++
      ratios(results, Contender.nativeAgain, firstGet = 0.1)

  private def ofHeapEngine(results: Seq[RestartResult]): Seq[TargetOutcome] = for {
    ours <- results.filter(_.provider == Contender.bucketed.name)
    rocksdb = besides(results, ours)
    first = s"first get, tail ${ours.tail}, ${ours.jvm}"
    outcome <- TargetOutcome(ours.keys, s"$first, ms", ours.firstGetMs.median, 50.0) +:
      rocksdb.toSeq.map { theirs =>
        TargetOutcome(
          ours.keys,
          s"first batch, tail ${ours.tail}, ${ours.jvm}, bucketed / rocksdb",
          ours.firstBatchMs.median / theirs.firstBatchMs.median,
          1.0
        )
      }
  } yield outcome

  /** The second engine by Spark's provider. */
  private def ratios(
      results: Seq[RestartResult],
      contender: Contender,
      firstGet: Double
  ): Seq[TargetOutcome] = for {
    ours <- results.filter(_.provider == contender.name)
    theirs <- besides(results, ours).toSeq
    (what, number, target) <- Seq[(String, RestartResult => MedianMax, Double)](
      ("first get", _.firstGetMs, firstGet),
      ("first batch", _.firstBatchMs, 0.7)
    )
  } yield TargetOutcome(
    ours.keys,
    s"$what, tail ${ours.tail}, ${ours.jvm}, ${contender.name} / ${theirs.provider}",
    number(ours).median / number(theirs).median,
    target
  )

  /** Spark's RocksDB in the same case. */
  private def besides(results: Seq[RestartResult], ours: RestartResult): Option[RestartResult] =
    results.find { r =>
      r.provider == Contender.rocksdb.name && r.keys == ours.keys && r.tail == ours.tail && r.jvm == ours.jvm
    }

  private def table(results: Seq[RestartResult]): String = {
    val rows = results.map { r =>
      Seq(Keys.show(r.keys), r.tail.toString, r.jvm, r.provider) ++
        Seq(r.initMs, r.firstGetMs, r.firstGetCpuMs, r.firstBatchMs)
          .flatMap(m => Seq(m.median, m.max))
          .map { ms =>
            f"$ms%.1f"
          } ++ Seq(r.libraryIn, f"${r.loadOfOthers * 100}%.0f")
    }
    TextTable(
      "Milliseconds; the first batch counts from the same moment as the first get; 'its CPU' is the " +
        "processor time of the thread that gets",
      Seq(
        "keys",
        "tail",
        "JVM",
        "provider",
        "init",
        "max",
        "first get",
        "max",
        "its CPU",
        "max",
        "first batch",
        "max",
        "library loaded in",
        "others' CPU %"
      ),
      rows
    ).render
  }

  /**
   * How long a tail is when snapshots are left to the default settings: one is due after so many versions or
   * bytes, and is behind by what comes while it is made.
   */
  private def defaultTails(results: Seq[RestartResult]): Option[String] = {
    val defaults = SparkSettings.read(Contender.bucketed.storeConf(BenchOptions()))
    val longest = results
      .filter(r => r.tail == results.map(_.tail).max && r.jvm == results.head.jvm)
    val lines = longest.filter(_.provider == Contender.bucketed.name).map { r =>
      val byBytes = math.ceil(defaults.snapshotMaxBytes / r.bytesPerVersion).toInt
      val due = math.min(defaults.snapshotMaxVersions, byBytes)
      s"${Keys.show(r.keys)}: changelogs of ${r.bytesPerVersion.round} bytes, a snapshot after $due " +
        s"of them; a tail of $due and those that come while it is made"
    }
    Option.when(lines.nonEmpty) {
      ("With the default settings:" +: lines).mkString("\n")
    }
  }
}
