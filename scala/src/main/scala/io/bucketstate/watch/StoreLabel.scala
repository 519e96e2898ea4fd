package io.bucketstate.watch

/**
 * Which store of which query run.
 *
 * @param run       id of the run, as Spark writes it; empty outside of a query
 * @param operator  Spark's number of the stateful operator in its query
 * @param name      Spark's name of the store; a join has several in a partition
 */
final case class StoreLabel(run: String, operator: Long, partition: Int, name: String) {
  def ofOperator: OperatorLabel = OperatorLabel(run, operator)
}

/** Which stateful operator of which query run. */
final case class OperatorLabel(run: String, operator: Long)
