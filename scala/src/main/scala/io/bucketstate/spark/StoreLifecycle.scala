package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.StateStoreErrors

/**
 * The life of one opened store, as a table of allowed transitions: the same states, operations and
 * error class (`STATE_STORE_OPERATION_OUT_OF_ORDER`) as Spark's RocksDB provider has, so that callers
 * see no difference. Only metrics may be asked for at any time, as of `HDFSBackedStateStoreProvider`.
 */
private[spark] object StoreLifecycle {

  sealed abstract class State(override val toString: String)
  case object Updating extends State("UPDATING")
  case object Committed extends State("COMMITTED")
  case object Aborted extends State("ABORTED")
  case object Released extends State("RELEASED")

  sealed abstract class Operation(val verb: String)
  case object Update extends Operation("update")
  case object Commit extends Operation("commit")
  case object Abort extends Operation("abort")
  case object Release extends Operation("release")

  private val allowed: Map[(State, Operation), State] = Map(
    (Updating, Update) -> Updating,
    (Updating, Commit) -> Committed,
    (Updating, Abort) -> Aborted,
    (Updating, Release) -> Released,
    (Aborted, Abort) -> Aborted,
    (Released, Release) -> Released
  )

  /** The state an operation leads to, or Spark's error when it is not allowed. */
  def next(state: State, operation: Operation): State =
    allowed.getOrElse((state, operation), throw outOfOrder(state, operation))

  /** In the words of Spark's RocksDB provider, which its users and its tests know. */
  private def outOfOrder(state: State, operation: Operation): Throwable = {
    val message = operation match {
      case Commit => s"Expected possible states ($Updating) but found $state"
      case Abort  => s"Expected possible states ($Updating, $Aborted) but found $state"
      case other  => s"Cannot ${other.verb} after $state"
    }
    StateStoreErrors.stateStoreOperationOutOfOrder(message)
  }
}
