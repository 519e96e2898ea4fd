package io.bucketstate.bench
package operations

/** Another provider's rate of an operation, divided by ours, is to be at most `limit`. */
final case class OperationTarget(operation: String, other: Contender, limit: Double)

/** Rates of operations for people and machines. */
object OperationReport {

  /** @param wanted those of them that a run has measured are compared */
  def publish(
      results: Seq[OperationResult],
      wanted: Seq[OperationTarget],
      options: BenchOptions
  ): Unit = {
    val bySize = options.keyCounts.map(keys => keys -> results.filter(_.keys == keys))
    val outcomes = bySize.flatMap { case (keys, ofSize) => compared(keys, ofSize, wanted) }
    val tables = bySize.map { case (keys, ofSize) => table(keys, ofSize, options) }
    Host.say((("" +: tables) ++ Report.targetTable(outcomes)).mkString("\n\n"))
    JsonReport.write(results, outcomes, options)
  }

  private def table(keys: Int, results: Seq[OperationResult], options: BenchOptions): String = {
    val rows = results.map(_.operation).distinct.map { operation =>
      operation +: options.contenders.map { contender =>
        rate(results, contender, operation).fold("-")(r => f"$r%,.0f")
      }
    }
    TextTable(
      s"Operations per second at ${Keys.show(keys)} keys, eviction in keys looked at " +
        s"(medians of ${options.rounds})",
      "operation" +: options.contenders.map(_.name),
      rows
    ).render
  }

  private def compared(
      keys: Int,
      results: Seq[OperationResult],
      wanted: Seq[OperationTarget]
  ): Seq[TargetOutcome] = for {
    target <- wanted
    ours <- rate(results, Contender.bucketed, target.operation)
    theirs <- rate(results, target.other, target.operation)
    name = s"${target.operation}, ${target.other.name}'s rate / ours"
  } yield TargetOutcome(keys, name, theirs / ours, target.limit)

  private def rate(
      results: Seq[OperationResult],
      contender: Contender,
      operation: String
  ): Option[Double] =
    results.find(r => r.provider == contender.name && r.operation == operation).map(_.perSecond)
}
