package io.bucketstate.plugin.queries

import io.bucketstate.plugin.status.StoreStatus

/**
 * One run of a query, as it is known. Immutable.
 *
 * @param name    that the user gave it, or else its id
 * @param started as Spark writes the time
 * @param end     None while it runs
 * @param seen    how many batches it had, also those that are not kept
 * @param batches the newest that are kept, the oldest first
 * @param stores  the newest that is known of each, in the order of [[QueryView.Order]]
 */
private[plugin] final case class QueryView(
    run: String,
    id: String,
    name: String,
    started: String,
    end: Option[QueryEnd],
    seen: Long,
    batches: Vector[Batch],
    stores: Vector[PlacedStore]
) {

  /** The stateful operators by their numbers, of all that the newest batch or a store names. */
  def operators: Vector[OperatorStores] = {
    val reported = batches.lastOption.fold(Vector.empty[OperatorBatch])(_.operators)
    val byOperator = stores.groupBy(_.status.label.operator)
    val number = (byOperator.keys.map(_.toInt + 1) ++ Seq(reported.size)).max
    (0 until number).toVector.map { n =>
      val batch = reported.lift(n)
      OperatorStores(
        n,
        batch.fold("unknown")(_.name),
        isOurs = batch.exists(_.isOurs) || byOperator.contains(n.toLong),
        batch,
        byOperator.getOrElse(n.toLong, Vector.empty)
      )
    }
  }

  def hasState: Boolean = stores.nonEmpty || batches.lastOption.exists(_.operators.nonEmpty)
}

private[plugin] object QueryView {

  /** By operator, partition and name. */
  val Order: Ordering[PlacedStore] = Ordering.by { (placed: PlacedStore) =>
    val label = placed.status.label
    (label.operator, label.partition, label.name)
  }
}

/** The end of a run; with what it failed, if it did. */
private[plugin] final case class QueryEnd(failure: Option[String])

/** A store with the executor that told of it last. */
private[plugin] final case class PlacedStore(executor: String, status: StoreStatus)

/**
 * One stateful operator of a query.
 *
 * @param isOurs whether its state is in this project's provider
 * @param last   what the newest batch told of it
 * @param stores none of another provider
 */
private[plugin] final case class OperatorStores(
    number: Int,
    name: String,
    isOurs: Boolean,
    last: Option[OperatorBatch],
    stores: Vector[PlacedStore]
)

/**
 * A process that has, or had, stores.
 *
 * @param memoryBytes what the state of all of its stores takes in the heap
 * @param memoryLimit what it may take
 * @param queued      work beside the batches that no thread has begun
 * @param isLost      whether it is there no more
 */
private[plugin] final case class ExecutorView(
    executor: String,
    memoryBytes: Long,
    memoryLimit: Long,
    queued: Int,
    stores: Int,
    isLost: Boolean
)

/** All that is known at a time. Immutable. */
private[plugin] final case class BoardView(
    queries: Vector[QueryView],
    executors: Vector[ExecutorView]
)

private[plugin] object BoardView {
  val Empty: BoardView = BoardView(Vector.empty, Vector.empty)
}
