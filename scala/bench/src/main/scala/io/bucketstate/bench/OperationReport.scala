package io.bucketstate.bench

/** Rates of operations for people. */
object OperationReport {

  def table(keys: Int, results: Seq[OperationResult], options: BenchOptions): String = {
    val ofSize = results.filter(_.keys == keys)
    val rows = ofSize.map(_.operation).distinct.map { operation =>
      operation +: options.contenders.map { contender =>
        rate(ofSize, contender, operation).fold("-")(r => f"$r%,.0f")
      }
    }
    TextTable(
      s"Operations per second at ${Keys.show(keys)} keys, eviction in keys looked at " +
        s"(medians of ${options.rounds})",
      "operation" +: options.contenders.map(_.name),
      rows
    ).render
  }

  /** As quotients of which less is better: another's rate by ours, for operations that both did. */
  def targets(
      keys: Int,
      results: Seq[OperationResult],
      wanted: Seq[(String, Contender, Double)]
  ): Seq[TargetOutcome] = for {
    (operation, other, limit) <- wanted
    ours <- rate(results, Contender.bucketed, operation)
    theirs <- rate(results, other, operation)
  } yield TargetOutcome(keys, s"$operation, ${other.name}'s rate / ours", theirs / ours, limit)

  private def rate(
      results: Seq[OperationResult],
      of: Contender,
      operation: String
  ): Option[Double] =
    results.find(r => r.provider == of.name && r.operation == operation).map(_.perSecond)
}
