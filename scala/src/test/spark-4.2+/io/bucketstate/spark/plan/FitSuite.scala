package io.bucketstate.spark.plan

import org.apache.spark.sql.execution.LocalTableScanExec
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec

import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.TidySuite

class FitSuite extends TidySuite {
  private val plan = LocalTableScanExec(Nil, Nil, None)

  test("the operators fit the Spark that they are built with") {
    for (sparks <- Seq(classOf[TransformWithStateExec], classOf[TransformWithStateInPySparkExec]))
      assert(Fit.of(sparks)(plan) eq plan)
  }

  test("a Spark whose operators are made otherwise is named with what does not link") {
    val error = intercept[InvalidException] {
      Fit.of(classOf[TransformWithStateExec])(throw new NoSuchMethodError("void <init>(...)"))
    }
    assert(error.getMessage.contains(s"does not fit Spark ${org.apache.spark.SPARK_VERSION}"))
    assert(error.getMessage.contains("void <init>(...)"))
  }

  test("a Spark that does not call what is overridden is named with the method") {
    class Renamed
    class Operator extends Renamed
    val error = intercept[InvalidException](Fit.of(classOf[Operator])(plan))
    assert(error.getMessage.contains("Renamed") && error.getMessage.contains("validateStateStore"))
  }
}
