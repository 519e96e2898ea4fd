package io.bucketstate.bench

import scala.util.Using

/** All providers side by side, through Spark's trait alone. */
object ProviderBenchmark {
  def main(args: Array[String]): Unit = Commands.run(args, BenchOptions())(run)

  private def run(options: BenchOptions): Unit = {
    val results = Using.resource(WorkFolder.create(options.workDir)) { folder =>
      warmUp(options, folder)
      options.keyCounts.flatMap(keys => runSize(keys, options, folder))
    }
    Host.say("\n" + Report.render(results, options))
    JsonReport.write(results, Targets.of(results), options)
  }

  /** Compiles every provider's code once, so that the first in line does not pay for the others. */
  private def warmUp(options: BenchOptions, folder: WorkFolder): Unit = {
    Host.progress("warming up the JVM, not counted")
    runSize(20000, options.copy(batches = 10, warmUp = 0, rounds = 1), folder)
    ()
  }

  /** One provider after another; rounds outermost, so that a slow minute does not hit one alone. */
  private def runSize(keys: Int, options: BenchOptions, folder: WorkFolder): Seq[RunResult] = {
    val workload = new Workload(keys, options.updates, options.seed)
    val expectedSum = workload.expectedSum(options.batches)
    val rounds = for {
      round <- 1 to options.rounds
      contender <- options.contenders
    } yield {
      val checkpoint = folder.checkpoint(s"$keys-$round-${contender.name}-")
      Host.progress(s"${Keys.show(keys)} ${contender.name}: round $round of ${options.rounds}")
      try new ProviderRun(contender, workload, expectedSum, options, checkpoint).run()
      finally folder.delete(checkpoint)
    }
    options.contenders.map(c => RunResult.median(rounds.filter(_.provider == c.name)))
  }
}
