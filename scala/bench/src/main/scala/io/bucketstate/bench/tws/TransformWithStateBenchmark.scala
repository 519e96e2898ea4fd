package io.bucketstate.bench
package tws

import java.nio.file.Path

import scala.util.Using

/**
 * A streaming query with `transformWithState` on each provider side by side: all batches of it in a JVM of
 * its own, then restarts in others, with the providers in turns. Spark's defaults, background work on.
 */
object TransformWithStateBenchmark {
  private val contenders =
    Contender.sparksRocksdb ++ Seq(Contender.bucketed, Contender.withPlugin)

  def main(args: Array[String]): Unit = Commands.run(
    args,
    BenchOptions(
      keyCounts = Seq(200000),
      contenders = contenders,
      batches = 80,
      warmUp = 20,
      rounds = 3,
      heap = Some("4g")
    )
  )(run)

  private def run(options: BenchOptions): Unit = {
    options.keyCounts.foreach { keys =>
      val loading = (keys + options.updates - 1) / options.updates
      require(
        options.warmUp >= loading,
        s"--warm-up: the first $loading batches of ${options.updates} rows bring the $keys keys"
      )
    }
    val results = Using.resource(WorkFolder.create(options.workDir)) { folder =>
      val jvm = new ChildJvm(folder.root, options.heap.map(heap => s"-Xmx$heap").toSeq)
      options.keyCounts.flatMap(runSize(_, options, folder, jvm))
    }
    val targets = TransformWithStateReport.targets(results)
    Host.say("\n" + TransformWithStateReport.render(results, targets, options))
    JsonReport.write(results, targets, options)
  }

  private def runSize(
      keys: Int,
      options: BenchOptions,
      folder: WorkFolder,
      jvm: ChildJvm
  ): Seq[TwsResult] = {
    val cases = options.contenders.map { contender =>
      val checkpoint = folder.checkpoint(s"$keys-${contender.name}-")
      new TwsCase(contender, keys, options, checkpoint, jvm)
    }
    val runs = cases.map(c => c -> c.run(options.batches))
    val restarts = (0 until options.rounds).flatMap { round =>
      val (later, first) = cases.splitAt(round % cases.size)
      (first ++ later).map(c => c -> c.run(1))
    }
    cases.foreach(c => folder.delete(c.folder))
    runs.map { case (c, sample) =>
      TwsResult.of(c.name, keys, options, sample, restarts.collect { case (`c`, again) => again })
    }
  }
}

/** The checkpoint of one provider at one size. */
private final class TwsCase(
    contender: Contender,
    keys: Int,
    options: BenchOptions,
    val folder: Path,
    jvm: ChildJvm
) {
  def name: String = contender.name

  def run(batches: Int): TwsSample = {
    val sample = jvm.ask(
      TransformWithStateProbe.name,
      Seq(s"$folder", s"$batches") ++ options.forChild(contender, keys),
      classOf[TwsSample]
    )
    Host.progress(
      f"${Keys.show(keys)} $name: $batches batches, the first after ${sample.firstMs}%.0f ms"
    )
    sample
  }
}
