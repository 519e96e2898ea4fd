package io.bucketstate.spark

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.internal.SQLConf

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

/**
 * Refuses it when a query is planned, where the session's provider is this project's. Of what a provider's
 * constructor throws Spark shows users no word, only that it failed.
 *
 * @param provider class name of the provider, as in the setting
 */
private[bucketstate] final class BuiltForSparkRule(provider: String) extends ColumnarRule {
  override val preColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = classOf[BuiltForSparkRule].getName

    override def apply(plan: SparkPlan): SparkPlan = {
      if (conf.getConf(SQLConf.STATE_STORE_PROVIDER_CLASS) == provider) {
        BuiltForSpark.require(SPARK_VERSION)
      }
      plan
    }
  }
}
