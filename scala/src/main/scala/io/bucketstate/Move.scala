package io.bucketstate

import java.io.PrintStream

import org.apache.spark.sql.SparkSession

import io.bucketstate.error.BucketstateException
import io.bucketstate.move.{MoveArguments, Plans}

/** Moves a checkpoint on a cluster: `spark-submit --class io.bucketstate.Move <jar> import SRC DST`. See [[Checkpoints]]. */
object Move {

  /** Ends the process with 2 for what was asked wrongly, or cannot be, and with 1 for what went wrong otherwise. */
  def main(words: Array[String]): Unit = {
    val status =
      try {
        val undo = MoveArguments.undoOf(words.toSeq)
        // What is wrong with the words is said before a session is made.
        val arguments = if (undo.isEmpty) Some(MoveArguments.parse(words.toSeq)) else None
        val spark = SparkSession.builder().appName("bucketstate move").getOrCreate()
        try {
          undo.foreach(path => print(System.out, Plans.undo(spark, path).json))
          arguments.fold(0)(run(spark, _))
        } finally spark.stop()
      } catch {
        case e: BucketstateException =>
          print(System.err, e.getMessage)
          2
      }
    if (status != 0) sys.exit(status)
  }

  private def run(spark: SparkSession, arguments: MoveArguments): Int = {
    val plan = Plans.of(spark, arguments.request)
    print(System.out, if (arguments.asJson) plan.json else plan.toString)
    if (!arguments.isDryRun) print(System.out, plan.run().json)
    else if (arguments.reads) print(System.out, plan.read().json)
    if (plan.isPossible) 0 else 2
  }

  /** What a command is asked for is what it prints. */
  private def print(to: PrintStream, text: String): Unit = to.append(text).append('\n').flush()
}
