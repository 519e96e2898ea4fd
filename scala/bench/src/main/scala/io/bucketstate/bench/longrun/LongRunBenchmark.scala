package io.bucketstate.bench
package longrun

import scala.util.Using

/** Long runs with snapshots and the restart after them, side by side. */
object LongRunBenchmark {

  /** The limit, this provider without snapshots and with them come one right after the other. */
  private val contenders = Seq(
    Contender.hdfs,
    Contender.rocksdb,
    Contender.tuned,
    Contender.native,
    Contender.hashmap,
    Contender.withoutSnapshots,
    Contender.bucketed
  )

  def main(args: Array[String]): Unit = {
    val defaults = BenchOptions(contenders = contenders, batches = 300, warmUp = 20)
    Commands.run(args, defaults)(run)
  }

  private def run(options: BenchOptions): Unit = {
    val outcomes = Using.resource(WorkFolder.create(options.workDir)) { folder =>
      Host.progress("warming up the JVM, not counted")
      runSize(20000, options.copy(batches = 30, warmUp = 0, rounds = 1), folder)
      options.keyCounts.flatMap(keys => runSize(keys, options, folder))
    }
    val (died, results) = outcomes.partitionMap(identity)
    val targets = LongRunTargets.of(results, options)
    Host.say("\n" + LongRunReport.render(results, died, targets, options))
    JsonReport.write(results, targets, options)
  }

  /** Of each contender its result, or the words that say that the heap was too small for it. */
  private def runSize(
      keys: Int,
      options: BenchOptions,
      folder: WorkFolder
  ): Seq[Either[String, LongRunResult]] = {
    val workload = new Workload(keys, options.updates, options.seed, options.draw)
    val expectedSum = workload.expectedSum(options.batches)
    options.contenders.map { contender =>
      val checkpoint = folder.checkpoint(s"$keys-${contender.name}-")
      try Right(new LongRun(contender, workload, expectedSum, options, checkpoint).run())
      catch {
        case OutOfMemory(e) =>
          val died = s"${contender.name} with ${Keys.show(keys)} keys died: $e"
          Host.progress(died)
          Left(died)
      } finally folder.delete(checkpoint)
    }
  }

  /** Spark's providers may tell of it as of a store that cannot be loaded. */
  private object OutOfMemory {
    def unapply(failure: Throwable): Option[OutOfMemoryError] =
      Iterator.iterate(failure)(_.getCause).takeWhile(_ != null).collectFirst {
        case e: OutOfMemoryError => e
      }
  }
}
