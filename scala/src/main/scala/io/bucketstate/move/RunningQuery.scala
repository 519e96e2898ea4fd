package io.bucketstate.move

import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.SparkSessions

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.error.ConflictException
import io.bucketstate.move.log.{LogText, QueryFolder}

/** Whether the query of a checkpoint runs, as far as a session's application knows. */
private[move] object RunningQuery {

  def isIn(session: SparkSession, folder: QueryFolder): Boolean =
    folder.exists(Marker.OfQuery) && !Marker.isBlocked(folder) && {
      val damage = new Damage(folder.locationOf(Marker.OfQuery), "metadata of a query")
      val json = LogText.objectOf(new String(folder.read(Marker.OfQuery), UTF_8), damage)
      Try(UUID.fromString(json.path("id").asText)).toOption
        .exists(SparkSessions.isRunning(session, _))
    }

  /** Throws `ConflictException` where it does. */
  def requireNone(session: SparkSession, folder: QueryFolder): Unit = if (isIn(session, folder)) {
    throw new ConflictException(
      s"The query of ${folder.location} runs in this application",
      "Stop it first. Nothing was changed."
    )
  }
}
