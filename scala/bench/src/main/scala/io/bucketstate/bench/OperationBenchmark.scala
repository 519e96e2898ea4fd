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
    val tables = options.keyCounts.map(keys => OperationReport.table(keys, results, options))
    Host.say((("" +: tables) ++ Report.targetTable(outcomes)).mkString("\n\n"))
    options.json.foreach { file =>
      JsonReport.write(results, outcomes, options, file)
      Host.say(s"\nWritten: $file")
    }
  }

  private def targets(keys: Int, all: Seq[OperationResult]): Seq[TargetOutcome] =
    OperationReport.targets(
      keys,
      all.filter(_.keys == keys),
      Seq(
        ("evict 0 %", Contender.rocksdb, 0.2),
        ("evict 0 %", Contender.hdfs, 1.0),
        ("put", Contender.hdfs, 1.0),
        ("remove", Contender.hdfs, 1.0),
        (s"prefix scan of ${OperationRows.PerGroup}", Contender.rocksdb, 0.5)
      )
    )
}
