package io.bucketstate.spark.plan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkExec
import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExec
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}
import org.apache.spark.sql.internal.SQLConf

import io.bucketstate.spark.many.ManyKeysTransform

/**
 * Puts this project's operators in the place of Spark's in streaming plans, where the session's provider is
 * this project's.
 *
 * A columnar rule, because these see a plan last: behind what Spark does to its own operators with each
 * batch. Where Spark's own operator stays, and would put out other rows than a function of the Python package does, the
 * plan is refused. Thread-safe.
 *
 * @param provider class name of the provider, as in the setting
 */
private[bucketstate] final class TransformWithStateRule(session: SparkSession, provider: String)
    extends ColumnarRule {

  override val postColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = classOf[TransformWithStateRule].getName

    override def apply(plan: SparkPlan): SparkPlan = {
      val ours = conf.getConf(SQLConf.STATE_STORE_PROVIDER_CLASS) == provider
      val made = if (ours) replacedIn(plan) else plan
      ManyKeysTransform.requireOwnRows(made, conf)
      made
    }
  }

  private def replacedIn(plan: SparkPlan): SparkPlan = {
    val replaced = plan.transformUp {
      case found: TransformWithStateExec if found.isStreaming =>
        accepting(found, classOf[TransformWithStateExec])(BucketedOperators.of(found))
      case found: TransformWithStateInPySparkExec if found.isStreaming =>
        accepting(found, classOf[TransformWithStateInPySparkExec])(BucketedOperators.of(found))
    }
    if (replaced ne plan) requireLast(replaced)
    replaced
  }

  private def accepting(found: SparkPlan, sparks: Class[_])(ours: => SparkPlan): SparkPlan =
    if (found.isInstanceOf[BucketedOperator]) found
    else if (found.getClass != sparks) throw PlanErrors.foreignOperator(found.getClass.getName)
    else Fit.of(sparks)(ours)

  /** Rules of other extensions that Spark runs after this one must leave the operators alone. */
  private def requireLast(replaced: SparkPlan): Unit =
    session match {
      case classic: org.apache.spark.sql.classic.SparkSession =>
        // Spark runs them in the reverse order of their registration.
        val later = classic.sessionState.columnarRules.takeWhile(_ ne this).reverse
        later.foldLeft(replaced) { (plan, rule) =>
          val next = rule.postColumnarTransitions(plan)
          if (operatorsIn(next) < operatorsIn(plan)) {
            throw PlanErrors.replacedAgain(rule.getClass.getName)
          }
          next
        }
        ()
      case _ => ()
    }

  private def operatorsIn(plan: SparkPlan): Int =
    plan.collect { case ours: BucketedOperator => ours }.length
}
