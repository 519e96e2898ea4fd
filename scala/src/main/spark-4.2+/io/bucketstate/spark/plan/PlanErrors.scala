package io.bucketstate.spark.plan

import org.apache.spark.SPARK_VERSION

import io.bucketstate.error.InvalidException

/** Why a plan cannot run on this provider. */
private[plan] object PlanErrors {

  /** The extension's class, which stands behind this room. */
  val Extension = "io.bucketstate.BucketstateExtensions"

  def extensionMissing(): InvalidException = new InvalidException(
    "transformWithState was asked to keep its state in BucketedStateStoreProvider, which Spark allows only " +
      s"with a session extension, and this session was made without $Extension",
    "Set spark.sql.extensions to it (after a comma behind others) before the session is made: as a " +
      s"builder's config, with --conf spark.sql.extensions=$Extension, or with bucketstate.configure. The jar " +
      "must be on the driver's class path by then; Spark only warns in its log if it does not find the class."
  )

  def foreignOperator(operator: String): InvalidException = new InvalidException(
    s"The plan holds $operator in the place of Spark's own transformWithState: another session extension put " +
      s"it there, and $Extension does not know how to make it accept BucketedStateStoreProvider",
    "Take one of the two out of spark.sql.extensions."
  )

  def replacedAgain(rule: String): InvalidException = new InvalidException(
    s"The rule $rule of another session extension takes away the operators that $Extension puts into plans " +
      "with transformWithState",
    s"Take one of the two out of spark.sql.extensions, or name $Extension first there: it then runs last."
  )

  def otherSpark(cause: LinkageError): InvalidException = new InvalidException(
    s"This jar of bucketstate does not fit Spark $SPARK_VERSION: its operators for transformWithState do not " +
      s"link (${cause.getMessage})",
    "Use the jar that was built for this minor version of Spark.",
    cause
  )

  def repartitionRefused(checkpoint: String, left: Seq[String]): InvalidException =
    new InvalidException(
      s"$checkpoint cannot be repartitioned: Spark does that for state in its own RocksDB provider alone. What it " +
        s"had written for it was removed (${left.mkString(", ")}), and all else is as it was",
      "Start the query as before. Another number of partitions is what bucketstate move rewrite makes."
    )

  def repartitionLeft(checkpoint: String, left: Seq[String], cause: Throwable): InvalidException =
    new InvalidException(
      s"$checkpoint cannot be repartitioned: Spark does that for state in its own RocksDB provider alone. What it " +
        s"had written for it could not be removed (${cause.getMessage}), and until then the query does not start",
      s"Remove ${left.reverse.mkString(", ")} in that folder, in this order, and start the query as before. Another " +
        "number of partitions is what bucketstate move rewrite makes.",
      cause
    )
}
