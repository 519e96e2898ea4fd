package io.bucketstate.spark.many

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.expressions.PythonUDF
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.python.streaming.FlatMapGroupsInPandasWithStateExec
import org.apache.spark.sql.execution.streaming.state.SparkInternals
import org.apache.spark.sql.execution.{ColumnarRule, SparkPlan}

/**
 * Puts [[ManyKeysExec]] in the place of Spark's operator where the function is one for many keys, whatever the
 * session's provider is. In any doubt the plan stays as it is: such a function runs on Spark's operator, too, with the
 * same answers; where it would not, the plan is refused: see [[OutputSlices]].
 *
 * A columnar rule, because these see a plan last: Spark's operator has been given its id, its watermarks, its schema and
 * its metadata by then. Thread-safe.
 */
private[bucketstate] final class ManyKeysRule extends ColumnarRule with Logging {

  override val postColumnarTransitions: Rule[SparkPlan] = new Rule[SparkPlan] {
    override val ruleName: String = classOf[ManyKeysRule].getName

    override def apply(plan: SparkPlan): SparkPlan =
      try {
        val replaced = plan.transformUp {
          case found: FlatMapGroupsInPandasWithStateExec if ManyKeysRule.isFor(found) =>
            ManyKeysExec.of(found)
        }
        OutputSlices.refusal(conf, "applyInPandasWithState").foreach { refusal =>
          if (replaced.exists(ManyKeysRule.isLeft)) throw refusal
        }
        replaced
      } catch {
        case failure: LinkageError =>
          logWarning(
            s"Functions for many keys run one key at a time: this jar does not fit Spark ${org.apache.spark.SPARK_VERSION}",
            failure
          )
          plan
      }
  }
}

private[many] object ManyKeysRule {
  private val StateFormat = 2

  /**
   * Whether the function takes many keys, on an operator of Spark's that stores what this project's does.
   *
   * Not where one thread makes the calls and another one takes the answers: this project's operator matches them by their
   * order, in one thread, and states would come under other keys. Spark's own operator names the key in each answer.
   */
  def isFor(found: FlatMapGroupsInPandasWithStateExec): Boolean =
    found.getClass == classOf[FlatMapGroupsInPandasWithStateExec] && found.stateInfo.isDefined &&
      found.stateFormatVersion == StateFormat && isMarked(found) && !SparkInternals.hasTwoThreads

  /** Whether it is Spark's own operator, with a function for many keys. */
  def isLeft(node: SparkPlan): Boolean = node match {
    case _: ManyKeysExec                           => false
    case found: FlatMapGroupsInPandasWithStateExec => isMarked(found)
    case _                                         => false
  }

  private def isMarked(found: FlatMapGroupsInPandasWithStateExec): Boolean =
    found.functionExpr match {
      case function: PythonUDF => function.name.startsWith(Protocol.Marker)
      case _                   => false
    }
}
