package io.bucketstate.checkpoint.retention

import io.bucketstate.checkpoint.io.Attempt

/** A store of a query, as Spark knows it. */
final case class StoreOfQuery(operator: Long, partition: Int, store: String)

/**
 * What a batch of a query made, held for whoever may want to go back to it: of each store one version, which retention
 * keeps as long as the savepoint is there.
 *
 * @param attempts what each store had then
 */
final case class Savepoint(name: String, batch: Long, attempts: Map[StoreOfQuery, Attempt]) {

  /** What is held of a store. Of one that is not listed it is the version, whoever has made it. */
  def of(store: StoreOfQuery): Attempt = attempts.getOrElse(store, Attempt(version))

  private def version: Long = batch + 1
}
