package io.bucketstate.conformance

import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkStateServerSuite

/** What a Python worker's calls do with state variables: mocks, so neither session nor provider. */
class BucketedTransformWithStateInPySparkStateServerSuite
    extends TransformWithStateInPySparkStateServerSuite {
  override protected def excluded: Seq[String] = Exclusions.of(getClass.getSimpleName).toSeq
}
