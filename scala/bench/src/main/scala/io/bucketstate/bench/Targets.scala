package io.bucketstate.bench

/** One thing the project set out to reach, and how far it is. */
final case class TargetOutcome(keys: Int, what: String, measured: Double, target: Double) {
  def reached: Boolean = measured <= target
}

/** The bucketed provider against the others, as pure arithmetic over results. */
object Targets {
  def of(results: Seq[RunResult]): Seq[TargetOutcome] = {
    val sizes = results.map(_.keys).distinct.sorted
    sizes.flatMap(size => atSize(size, results.filter(_.keys == size))) ++ growth(sizes, results)
  }

  private def atSize(keys: Int, results: Seq[RunResult]): Seq[TargetOutcome] = {
    def find(c: Contender): Option[RunResult] = results.find(_.provider == c.name)
    def ratio(what: String, against: Contender, target: Double)(
        number: RunResult => Double
    ): Option[TargetOutcome] = for {
      ours <- find(Contender.bucketed)
      theirs <- find(against)
    } yield TargetOutcome(
      keys,
      s"$what, bucketed / ${against.name}",
      number(ours) / number(theirs),
      target
    )
    Seq(
      ratio("batch p50", Contender.rocksdb, 1.0 / 6)(_.batch.p50),
      ratio("batch p50", Contender.hdfs, 1.0 / 8)(_.batch.p50),
      ratio("get+put p50", Contender.hashmap, 1.3)(_.getPut.p50),
      ratio("commit p50", Contender.rocksdb, 0.5)(_.commit.p50),
      ratio("commit p50", Contender.hdfs, 0.5)(_.commit.p50),
      ratio("heap", Contender.hdfs, 0.5)(_.heapBytes),
      find(Contender.bucketed).map(r => TargetOutcome(keys, "open p50, ms", r.open.p50, 1.0))
    ).flatten
  }

  private def growth(sizes: Seq[Int], results: Seq[RunResult]): Option[TargetOutcome] = {
    def factor(c: Contender): Option[Double] = for {
      small <- results.find(r => r.provider == c.name && r.keys == sizes.head)
      large <- results.find(r => r.provider == c.name && r.keys == sizes.last)
    } yield large.batch.p50 / small.batch.p50
    for {
      ours <- factor(Contender.bucketed)
      theirs <- factor(Contender.hashmap)
      if sizes.size > 1
    } yield TargetOutcome(
      sizes.last,
      s"growth of batch p50 from ${Keys.show(sizes.head)}, bucketed / hashmap",
      ours / theirs,
      1.3
    )
  }
}
