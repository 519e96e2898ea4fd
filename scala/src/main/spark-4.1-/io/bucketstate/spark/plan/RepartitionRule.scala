package io.bucketstate.spark.plan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule

/**
 * Spark 4.0 and 4.1 have no offline repartition to refuse. It is here so that a session is set up in the same way on
 * each minor version.
 */
private[bucketstate] final class RepartitionRule(
    @annotation.unused session: SparkSession,
    @annotation.unused provider: String
) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan
}
