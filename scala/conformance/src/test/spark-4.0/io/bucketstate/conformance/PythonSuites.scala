package io.bucketstate.conformance

import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPandasStateServerSuite

/** What a Python worker's calls do with state variables: mocks, so neither session nor provider. */
class BucketedTransformWithStateInPySparkStateServerSuite
    extends TransformWithStateInPandasStateServerSuite {
  override protected def excluded: Seq[String] = Exclusions.of(getClass.getSimpleName).toSeq
}
