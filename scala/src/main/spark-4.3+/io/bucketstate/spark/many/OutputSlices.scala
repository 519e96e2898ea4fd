package io.bucketstate.spark.many

import org.apache.spark.sql.internal.SQLConf

import io.bucketstate.error.InvalidException

/** The settings that have Spark's own operators of Python slice each batch of output, which this Spark does as it says. */
private[many] object OutputSlices {

  /** Nothing speaks against Spark's own operator. */
  def refusal(
      @annotation.unused conf: SQLConf,
      @annotation.unused operator: String
  ): Option[InvalidException] = None
}
