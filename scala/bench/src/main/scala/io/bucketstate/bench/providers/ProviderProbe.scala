package io.bucketstate.bench
package providers

import java.nio.file.Paths

/**
 * One [[ProviderRun]] in a JVM of its own, whose memory is then that provider's alone; answers with one line
 * of JSON. Nothing is run before: the batches that do not count have to be enough for the compiler.
 */
object ProviderProbe {
  val name: String = getClass.getName.stripSuffix("$")

  /** The checkpoint's folder and the sum that is expected, then options of which the first size and provider count. */
  def main(args: Array[String]): Unit = {
    val (errand, rest) = args.span(!_.startsWith("--"))
    Commands.run(rest, BenchOptions()) { options =>
      val result = errand.toSeq match {
        case Seq(folder, expectedSum) =>
          val workload = new Workload(options.keyCounts.head, options.updates, options.seed)
          val contender = options.contenders.head
          new ProviderRun(contender, workload, expectedSum.toLong, options, Paths.get(folder)).run()
        case other => throw new IllegalArgumentException(other.mkString("no errand: ", " ", ""))
      }
      Host.say(JsonReport.line(result))
    }
  }
}
