package io.bucketstate.bench
package providers

import scala.util.Using

/** All providers side by side, through Spark's trait alone: in this JVM, or with `--heap` in one each. */
object ProviderBenchmark {
  def main(args: Array[String]): Unit = Commands.run(args, BenchOptions())(run)

  private def run(options: BenchOptions): Unit = {
    val results = Using.resource(WorkFolder.create(options.workDir)) { folder =>
      if (options.heap.isEmpty) warmUp(options, folder)
      options.keyCounts.flatMap(keys => runSize(keys, options, folder))
    }
    val targets = if (options.heap.isEmpty) Targets.of(results) else NativeTargets.of(results)
    Host.say("\n" + Report.render(results, targets, options))
    JsonReport.write(results, targets, options)
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
      try
        options.heap match {
          case None => new ProviderRun(contender, workload, expectedSum, options, checkpoint).run()
          case Some(heap) =>
            new ChildJvm(folder.root, Seq(s"-Xmx$heap")).ask(
              ProviderProbe.name,
              Seq(s"$checkpoint", s"$expectedSum") ++ options.forChild(contender, keys),
              classOf[RunResult]
            )
        }
      finally folder.delete(checkpoint)
    }
    options.contenders.map(c => RunResult.median(rounds.filter(_.provider == c.name)))
  }
}
