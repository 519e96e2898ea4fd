package io.bucketstate.spark.many

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.internal.SQLConf

import io.bucketstate.error.InvalidException

/**
 * The settings that have Spark's own operators of Python slice each batch of output. The last slice may be the whole batch,
 * which is closed before the next one is sliced. The operators for many keys do not slice.
 */
private[many] object OutputSlices {
  private val Does = Seq(
    "spark.sql.execution.arrow.maxRecordsPerOutputBatch" -> "puts out rows twice, or fails",
    "spark.sql.execution.arrow.maxBytesPerOutputBatch" -> "fails, or puts out rows of nulls"
  )
  private val MoreThanNone = """\s*0*[1-9].*""".r

  /**
   * Why Spark's own operator must not run a function for many keys in a session; None where nothing is sliced.
   *
   * @param operator as users name it
   */
  def refusal(conf: SQLConf, operator: String): Option[InvalidException] =
    Does.map { case (key, does) => (key, does, conf.getConfString(key, "-1")) }.collectFirst {
      case (key, does, most) if MoreThanNone.matches(most) =>
        new InvalidException(
          s"$key is $most, and with it $operator of Spark $SPARK_VERSION $does. Many keys in a call are not affected, " +
            "but the function cannot have them in this query",
          s"Unset $key for this query. On transformWithState many keys need streaming rows and a checkpoint that began " +
            "with bucketstate's provider: Spark goes on with the one that a checkpoint names."
        )
    }
}
