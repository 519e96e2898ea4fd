package io.bucketstate.move

import java.nio.charset.StandardCharsets.UTF_8

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.error.InvalidException
import io.bucketstate.move.log.{LogText, QueryFolder, QueryLogs}

/**
 * The file that says that a checkpoint is being rewritten in place, or that this is being undone. It is written before all
 * else and deleted last. How far it has come say Spark's logs.
 *
 * @param batch      the batch that the rewrite is
 * @param partitions that the state gets
 * @param token      of whoever wrote it: of two at once it tells which one came last, and that one goes on
 */
private[move] final case class InPlaceMark(batch: Long, partitions: Int, token: String) {

  def write(folder: QueryFolder, startedMs: Long): Unit = {
    val json = LogText.Json
      .createObjectNode()
      .put("format", InPlaceMark.Format)
      .put("kind", MoveKind.Rewrite.name)
      .put("status", "begun")
      .put("batch", batch)
      .put("partitions", partitions)
      .put("token", token)
      .put("tool", Marker.tool)
      .put("startedMs", startedMs)
    folder.write(
      InPlaceMark.File,
      LogText.Json.writerWithDefaultPrettyPrinter.writeValueAsBytes(json)
    )
  }

  def stateIn(logs: QueryLogs): InPlaceState = {
    val planned = logs.offsets
    if (planned.lastOption.contains(batch - 1)) InPlaceState.Unplanned
    else if (!logs.changesPartitions(batch)) InPlaceState.Stale
    else if (logs.commits.contains(batch)) InPlaceState.Committed
    else if (planned.lastOption.contains(batch)) InPlaceState.Planned
    else InPlaceState.Stale
  }
}

private[move] object InPlaceMark {
  val File = "_bucketstate/in-place.json"
  private val Format = 1

  def of(folder: QueryFolder): Option[InPlaceMark] = Option.when(folder.exists(File)) {
    val damage = new Damage(folder.locationOf(File), "mark of a rewrite in place")
    val json = LogText.objectOf(new String(folder.read(File), UTF_8), damage)
    if (json.path("format").asInt > Format) {
      throw new InvalidException(
        s"${folder.locationOf(File)} is of a newer bucketstate",
        "Use one that is at least as new as that which began the rewrite."
      )
    }
    if (!json.path("batch").isIntegralNumber || !json.path("partitions").isIntegralNumber) {
      throw damage("expected a batch and a number of partitions")
    }
    InPlaceMark(
      json.path("batch").asLong,
      json.path("partitions").asInt,
      json.path("token").asText
    )
  }
}

/** How far a rewrite in place has come, or how far its undoing. */
private[move] sealed trait InPlaceState

private[move] object InPlaceState {

  /** Its batch is not in the offset log: a query that is started goes on as if nothing had been. */
  case object Unplanned extends InPlaceState

  /** Its batch was planned and is not committed: no query starts. */
  case object Planned extends InPlaceState

  /** Its batch is committed: a query that is started goes on with the new partitions. */
  case object Committed extends InPlaceState

  /** The query has gone on since, with a batch of its own of that number, or with later ones. */
  case object Stale extends InPlaceState
}
