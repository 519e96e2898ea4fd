package io.bucketstate.bench

import scala.util.Using

/** Point operations, scans and eviction, a provider after the other. */
object OperationBenchmark {

  def main(args: Array[String]): Unit = {
    val all = Seq(Contender.hdfs, Contender.rocksdb, Contender.bucketed)
    Commands.run(args, BenchOptions(contenders = all, rounds = 5))(run)
  }

  private def run(options: BenchOptions): Unit = {
    val results = Using.resource(WorkFolder.create(options.workDir)) { folder =>
      for {
        keys <- options.keyCounts
        contender <- options.contenders
        result <- new OperationRun(contender, keys, options, folder).run()
      } yield result
    }
    val outcomes = results.map(_.keys).distinct.flatMap(keys => targets(keys, results))
    val tables = options.keyCounts.map(keys => table(keys, results, options))
    Host.say((("" +: tables) ++ Report.targetTable(outcomes)).mkString("\n\n"))
    options.json.foreach { file =>
      JsonReport.write(results, outcomes, options, file)
      Host.say(s"\nWritten: $file")
    }
  }

  private def table(keys: Int, results: Seq[OperationResult], options: BenchOptions): String = {
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

  private def rate(
      results: Seq[OperationResult],
      of: Contender,
      operation: String
  ): Option[Double] =
    results.find(r => r.provider == of.name && r.operation == operation).map(_.perSecond)

  /** As quotients of which less is better. */
  private def targets(keys: Int, all: Seq[OperationResult]): Seq[TargetOutcome] = {
    val results = all.filter(_.keys == keys)
    val wanted = Seq(
      ("evict 0 %", Contender.rocksdb, 0.2),
      ("evict 0 %", Contender.hdfs, 1.0),
      ("put", Contender.hdfs, 1.0),
      ("remove", Contender.hdfs, 1.0),
      (s"prefix scan of ${OperationRows.PerGroup}", Contender.rocksdb, 0.5)
    )
    for {
      (operation, other, limit) <- wanted
      ours <- rate(results, Contender.bucketed, operation)
      theirs <- rate(results, other, operation)
    } yield TargetOutcome(keys, s"$operation, ${other.name}'s rate / ours", theirs / ours, limit)
  }
}
