package io.bucketstate.bench

import scala.util.Using

/** Long runs with snapshots and the restart after them, side by side. */
object LongRunBenchmark {

  /** The limit, this provider without snapshots and with them come one right after the other. */
  private val contenders = Seq(
    Contender.hdfs,
    Contender.rocksdb,
    Contender.hashmap,
    Contender.withoutSnapshots,
    Contender.bucketed
  )

  def main(args: Array[String]): Unit = {
    val defaults = BenchOptions(contenders = contenders, batches = 300, warmUp = 20)
    Commands.run(args, defaults)(run)
  }

  private def run(options: BenchOptions): Unit = {
    val results = Using.resource(WorkFolder.create(options.workDir)) { folder =>
      Host.progress("warming up the JVM, not counted")
      runSize(20000, options.copy(batches = 30, warmUp = 0, rounds = 1), folder)
      options.keyCounts.flatMap(keys => runSize(keys, options, folder))
    }
    val targets = LongRunTargets.of(results, options)
    Host.say("\n" + LongRunReport.render(results, targets, options))
    JsonReport.write(results, targets, options)
  }

  private def runSize(keys: Int, options: BenchOptions, folder: WorkFolder): Seq[LongRunResult] = {
    val workload = new Workload(keys, options.updates, options.seed, options.draw)
    val expectedSum = workload.expectedSum(options.batches)
    options.contenders.map { contender =>
      val checkpoint = folder.checkpoint(s"$keys-${contender.name}-")
      try new LongRun(contender, workload, expectedSum, options, checkpoint).run()
      finally folder.delete(checkpoint)
    }
  }
}
