package io.bucketstate.spark

import org.apache.spark.SPARK_VERSION

import io.bucketstate.error.InvalidException

/**
 * Refuses a Spark of another minor version than the jar's, before anything of Spark's own is touched: what its
 * traits ask for differs, and a task would end with an `AbstractMethodError`, or worse, go on without maintenance.
 */
private[bucketstate] abstract class BuiltForSpark {
  BuiltForSpark.require(SPARK_VERSION)
}

private[bucketstate] object BuiltForSpark {

  /**
   * Throws `InvalidException` if it is another minor version.
   *
   * @param running version of the Spark that runs
   */
  def require(running: String): Unit = {
    val minor = running.split('.').take(2).mkString(".")
    if (minor != BuiltFor.Minor) {
      throw new InvalidException(
        s"This jar of bucketstate is for Spark ${BuiltFor.Minor}, and Spark $running runs",
        s"Put bucketstate-spark-${minor}_2.13 in its place in spark.jars, if there is one for that version; the " +
          "Python package carries them all."
      )
    }
  }
}
