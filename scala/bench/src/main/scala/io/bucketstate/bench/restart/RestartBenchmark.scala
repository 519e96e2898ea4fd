package io.bucketstate.bench
package restart

import java.nio.file.Path

import scala.util.Using

/**
 * What a user sees at a restart: a JVM of its own for each one, on a checkpoint that ends a known number of
 * changelogs after its newest snapshot. [[RestartProbe]] says what is inside and outside of the clock.
 */
object RestartBenchmark {
  private val restarted =
    Seq(Contender.hdfs, Contender.rocksdb, Contender.tuned, Contender.bucketed, Contender.eager)

  def main(args: Array[String]): Unit = {
    val sizes = Seq(100000, 1000000, 4000000)
    Commands.run(args, BenchOptions(keyCounts = sizes, contenders = restarted, rounds = 5))(run)
  }

  private def run(options: BenchOptions): Unit = {
    val (results, library) = Using.resource(WorkFolder.create(options.workDir)) { folder =>
      val jvm = new ChildJvm(folder.root)
      val library = (1 to options.rounds).map { _ =>
        jvm.ask(RestartProbe.name, Seq("library"), classOf[LibraryLoad]).ms
      }
      (options.keyCounts.flatMap(runSize(_, options, folder, jvm)), MedianMax.of(library))
    }
    Host.say("\n" + RestartReport.render(results, library, options))
    val measured = results.map(r => r.copy(libraryMs = Option.when(r.loadsLibrary)(library)))
    JsonReport.write(measured, RestartReport.targets(results), options)
  }

  /** One checkpoint per provider, which grows from one tail to the next. */
  private def runSize(
      keys: Int,
      options: BenchOptions,
      folder: WorkFolder,
      jvm: ChildJvm
  ): Seq[RestartResult] = {
    val cases = options.contenders.map { contender =>
      new RestartCase(contender, keys, options, folder.checkpoint(s"$keys-${contender.name}-"), jvm)
    }
    val results = options.tails.flatMap { tail =>
      cases.foreach(_.growTo(tail))
      options.jvms.flatMap { condition =>
        val rounds = (0 until options.rounds).map { round =>
          // Whoever is first meets a machine that has just done something else.
          val (later, first) = cases.splitAt(round % cases.size)
          (first ++ later).map(c => c -> c.restart(condition)).toMap
        }
        cases.map(c => c.result(condition, rounds.map(_(c))))
      }
    }
    cases.foreach { c =>
      folder.delete(c.folder)
      folder.delete(Contender.localFolder(c.folder))
    }
    results
  }
}

/** The checkpoint of one provider at one size. Not thread-safe. */
private final class RestartCase(
    contender: Contender,
    keys: Int,
    options: BenchOptions,
    val folder: Path,
    jvm: ChildJvm
) {
  private val label = s"${Keys.show(keys)} ${contender.name}"
  private var tail = 0
  private var bytesPerVersion = 0.0

  private lazy val snapshot: Long = {
    Host.progress(s"$label: preparing the checkpoint")
    ask(classOf[Prepared], "preload", s"$folder").snapshot
  }

  def growTo(next: Int): Unit = {
    val grown = ask(classOf[Prepared], "extend", s"$folder", s"$snapshot", s"$tail", s"$next")
    tail = next
    bytesPerVersion = grown.bytesPerVersion
    Host.progress(s"$label: $tail changelogs after the newest snapshot")
  }

  def restart(condition: RestartCondition): RestartSample = {
    val sample =
      ask(classOf[RestartSample], "restart", s"$folder", s"$snapshot", s"$tail", condition.name)
    Host.progress(f"$label, tail $tail, ${condition.words}: first get ${sample.firstGetMs}%.1f ms")
    sample
  }

  def result(condition: RestartCondition, rounds: Seq[RestartSample]): RestartResult =
    RestartResult.of(contender.name, keys, tail, condition, bytesPerVersion, rounds)

  private def ask[T](answer: Class[T], errand: String*): T =
    jvm.ask(RestartProbe.name, errand ++ options.forChild(contender, keys), answer)
}
