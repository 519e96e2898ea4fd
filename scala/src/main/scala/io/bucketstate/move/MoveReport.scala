package io.bucketstate.move

import com.fasterxml.jackson.databind.node.ObjectNode

import io.bucketstate.move.job.StoreMoved
import io.bucketstate.move.log.LogText

/**
 * What a move has done. Immutable.
 *
 * @param isPublished whether there is a target that a query goes on with; a run that only reads has none
 */
final class MoveReport private[move] (
    private[move] val plan: PlannedMove,
    private[move] val stores: Seq[StoreMoved],
    private[move] val isPublished: Boolean,
    private[move] val startedMs: Long,
    private[move] val finishedMs: Long
) {

  /** Keys that are in the target, or would be. */
  def keys: Long = stores.map(_.kept.keys).sum

  /** Keys that were left out because a condition asked for it. */
  def deletedKeys: Long = stores.map(_.deleted.keys).sum

  /** Keys that rows were given for. */
  def givenKeys: Long = stores.map(_.added.keys).sum

  /** Those of them that the state had before. */
  def replacedKeys: Long = stores.map(_.replaced.keys).sum

  def bytes: Long = stores.map(_.bytes).sum

  /** The report as JSON, for tools. Sums are hexadecimal: equal ones are of equal rows. */
  def json: String = {
    val all = LogText.Json.createObjectNode()
    all.put("kind", plan.request.kind.name)
    all.put("source", plan.sourceLocation).put("target", plan.target)
    all.put("inPlace", plan.request.inPlace).put("lastBatch", plan.lastBatch)
    all.put("batch", plan.batch).put("published", isPublished)
    all.put("verified", if (plan.request.verifyFully) "full" else "counts")
    all.put("keys", keys).put("deletedKeys", deletedKeys).put("bytes", bytes)
    all.put("givenKeys", givenKeys).put("replacedKeys", replacedKeys)
    all.put("startedMs", startedMs).put("finishedMs", finishedMs)
    val each = all.putArray("stores")
    stores.foreach(write(_, each.addObject()))
    all.toString
  }

  private def write(store: StoreMoved, to: ObjectNode): Unit = {
    to.put("operator", store.work.store.operator).put("name", store.work.store.name)
    to.put("keys", store.kept.keys).put("values", store.kept.values)
    to.put("deletedKeys", store.deleted.keys)
    to.put("sum", f"${store.kept.sum}%016x").put("bytes", store.bytes)
    ()
  }
}
