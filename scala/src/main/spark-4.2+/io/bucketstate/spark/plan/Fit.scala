package io.bucketstate.spark.plan

import org.apache.spark.sql.execution.SparkPlan

/** Whether the operators of this project fit the Spark that runs, asked on the driver before a task is. */
private[plan] object Fit {

  /**
   * The operator, or an error that names Spark's version.
   *
   * @param sparks class of the operator of Spark's whose place it takes
   */
  def of(sparks: Class[_])(operator: => SparkPlan): SparkPlan =
    try {
      requireOverridable(sparks)
      operator
    } catch { case failure: LinkageError => throw PlanErrors.otherSpark(failure) }

  /** Where Spark does not call what the operators override, it goes on to refuse the provider. */
  private def requireOverridable(sparks: Class[_]): Unit = {
    val parent: Class[_] = sparks.getSuperclass
    if (!parent.getDeclaredMethods.exists(_.getName == BucketedOperator.Overridden)) {
      throw new NoSuchMethodError(s"${parent.getName}.${BucketedOperator.Overridden}")
    }
  }
}
