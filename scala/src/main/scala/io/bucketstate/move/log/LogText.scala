package io.bucketstate.move.log

import java.nio.charset.StandardCharsets.UTF_8

import com.fasterxml.jackson.core.JsonProcessingException
import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

import io.bucketstate.checkpoint.io.Damage

/**
 * A file of one of Spark's logs as its lines are: a version, a JSON document, and what stands behind it. What is not changed
 * stays as it was, also members that this version of Spark does not know. The document is not to be written to: a change
 * makes another text. Immutable.
 *
 * @param version as the first line has it, `v1` and its like
 */
private[bucketstate] final case class LogText(
    version: String,
    document: ObjectNode,
    behind: Seq[String]
) {
  import LogText._

  /** This text with another document. */
  def changed(change: ObjectNode => Unit): LogText = {
    val next = document.deepCopy
    change(next)
    copy(document = next)
  }

  def bytes: Array[Byte] =
    (version +: Json.writeValueAsString(document) +: behind).mkString("\n").getBytes(UTF_8)
}

private[bucketstate] object LogText {
  val Json: ObjectMapper = new ObjectMapper

  def parse(bytes: Array[Byte], damage: Damage): LogText = {
    val lines = new String(bytes, UTF_8).split("\n", -1).toSeq
    val version = lines.head.trim
    if (!version.matches("v[0-9]+")) {
      throw damage(s"expected a version such as v1 in the first line, found '${version.take(40)}'")
    }
    val text = lines.lift(1).map(_.trim).filter(_.nonEmpty).getOrElse("{}")
    LogText(version, objectOf(text, damage), lines.drop(2))
  }

  def objectOf(text: String, damage: Damage): ObjectNode = {
    val read =
      try Json.readTree(text)
      catch {
        case e: JsonProcessingException => throw damage(s"it is no JSON: ${e.getOriginalMessage}")
      }
    read match {
      case found: ObjectNode => found
      case _                 => throw damage("expected a JSON object")
    }
  }
}
