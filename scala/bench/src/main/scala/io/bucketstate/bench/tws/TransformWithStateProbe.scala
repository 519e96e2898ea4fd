package io.bucketstate.bench
package tws

import java.nio.file.Paths

/**
 * One [[TransformWithStateRun]] in a JVM of its own, which is driver and executor in one; answers with one
 * line of JSON. Nothing is run before.
 */
object TransformWithStateProbe {
  val name: String = getClass.getName.stripSuffix("$")

  /** The checkpoint's folder and the number of batches, then options of which the first size and provider count. */
  def main(args: Array[String]): Unit = {
    val (errand, rest) = args.span(!_.startsWith("--"))
    Commands.run(rest, BenchOptions()) { options =>
      val sample = errand.toSeq match {
        case Seq(folder, batches) =>
          val contender = options.contenders.head
          new TransformWithStateRun(contender, options, Paths.get(folder)).run(batches.toInt)
        case other => throw new IllegalArgumentException(other.mkString("no errand: ", " ", ""))
      }
      Host.say(JsonReport.line(sample))
      // RocksDB's threads may call into a JVM that ends by itself, which then crashes or never ends. What is left
      // behind lies in the folder of the one who asked.
      System.out.flush()
      Runtime.getRuntime.halt(0)
    }
  }
}
