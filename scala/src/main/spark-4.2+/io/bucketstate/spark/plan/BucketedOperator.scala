package io.bucketstate.spark.plan

import org.apache.spark.sql.execution.streaming.operators.stateful.transformwithstate.TransformWithStateExecBase

/**
 * An operator of Spark's that accepts this provider, and what these are known by. None compares equal to its
 * parent's, or Spark would take it for no change and keep the parent's.
 */
private[plan] trait BucketedOperator extends TransformWithStateExecBase {

  override protected def validateStateStoreProvider(isStreaming: Boolean): Unit = ()

  override def canEqual(other: Any): Boolean = other.isInstanceOf[BucketedOperator]

  override def equals(other: Any): Boolean = canEqual(other) && super.equals(other)

  override def hashCode(): Int = super.hashCode()
}

private[plan] object BucketedOperator {

  /** The method of the parents that is overridden; nothing else would tell if another Spark renamed it. */
  val Overridden = "validateStateStoreProvider"
}
