package io.bucketstate.move

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Arrays

import com.fasterxml.jackson.databind.node.ObjectNode

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.move.log.{LogText, QueryFolder}

/**
 * The file that says where a checkpoint came from. It is written before the state and completed when all is there: a folder
 * whose marker is not finished is of a move that was given up, and may be emptied by the next.
 */
private[move] object Marker {
  val File = "_bucketstate/move.json"

  /** What a rewind leaves that was stopped; the Python package makes them. */
  val Rewind = "_bucketstate/rewind.json"

  /** Spark's file with the id of the query, which it reads before all else of a checkpoint. */
  val OfQuery = "metadata"

  /** What stands there until all of a move is there. It is no JSON, and Spark's error has its first word. */
  private val Blocking =
    "The_move_into_this_folder_is_not_finished: run the same command again.\n".getBytes(UTF_8)

  private val Format = 1

  /** The version of this project, as its jar says. */
  def tool: String =
    Option(getClass.getPackage.getImplementationVersion).getOrElse("unknown")

  /** The marker of a folder, None if it has none. */
  private def read(folder: QueryFolder): Option[ObjectNode] = Option.when(folder.exists(File)) {
    val damage = new Damage(folder.locationOf(File), "mark of a move")
    LogText.objectOf(new String(folder.read(File), UTF_8), damage)
  }

  /** What there is in a folder of a move into it. */
  def stateOf(folder: QueryFolder): MarkedAs =
    if (isBlocked(folder)) MarkedAs.GivenUp
    else
      read(folder) match {
        case Some(json) if json.path("status").asText == Begun =>
          // The last file of a move: with that a query may have run since.
          if (folder.exists(OfQuery)) MarkedAs.AllButMarked else MarkedAs.GivenUp
        case _ => MarkedAs.Nothing
      }

  /** Lets no query start, until the query's own file comes in the place of this one. */
  def block(folder: QueryFolder): Unit =
    if (!isBlocked(folder)) folder.write(OfQuery, Blocking)

  /** Whether a move into it has not come to its end. */
  def isBlocked(folder: QueryFolder): Boolean =
    folder.exists(OfQuery) && Arrays.equals(folder.read(OfQuery), Blocking)

  /** Says that all is there, of a move that had come so far but for saying it. */
  def complete(folder: QueryFolder, finishedMs: Long): Unit = read(folder).foreach { json =>
    write(folder, json.put("status", "finished").put("finishedMs", finishedMs))
  }

  private val Begun = "begun"

  /** @param token of whoever writes it: of two moves into one folder it tells which one came last */
  def begin(folder: QueryFolder, plan: PlannedMove, token: String, startedMs: Long): Unit =
    write(folder, of(plan, token, startedMs).put("status", Begun))

  /** Whether nobody else has begun a move into the folder since. */
  def isOf(folder: QueryFolder, token: String): Boolean =
    read(folder).exists(_.path("token").asText == token)

  def finish(folder: QueryFolder, report: MoveReport, token: String): Unit = write(
    folder,
    of(report.plan, token, report.startedMs)
      .put("status", "finished")
      .put("finishedMs", report.finishedMs)
      .put("stores", report.stores.map(_.written.size).sum)
      .put("keys", report.stores.map(_.kept.keys).sum)
      .put("bytes", report.stores.map(_.bytes).sum)
  )

  private def of(plan: PlannedMove, token: String, startedMs: Long): ObjectNode = LogText.Json
    .createObjectNode()
    .put("format", Format)
    .put("kind", plan.request.kind.name)
    .put("source", plan.sourceLocation)
    .put("batch", plan.batch)
    .put("token", token)
    .put("tool", tool)
    .put("startedMs", startedMs)

  private def write(folder: QueryFolder, json: ObjectNode): Unit =
    folder.write(File, LogText.Json.writerWithDefaultPrettyPrinter.writeValueAsBytes(json))
}

/** How far a move into a folder had come. */
private[move] sealed trait MarkedAs

private[move] object MarkedAs {

  /** There is none, or it was finished. */
  case object Nothing extends MarkedAs

  /** It was begun and not finished: no query starts on what there is. */
  case object GivenUp extends MarkedAs

  /** All is there but the end of the marker. */
  case object AllButMarked extends MarkedAs
}
