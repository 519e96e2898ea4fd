package io.bucketstate.move.log

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}

/** An entry of a query's commit log: that a batch has ended, and which attempts at its stores count. Immutable. */
private[bucketstate] final case class CommitEntry(batch: Long, text: LogText) {

  /** Checkpoint ids by operator, partition and store; None where the query has none. */
  def ids: Option[Map[Long, Seq[Seq[String]]]] = text.document.path("stateUniqueIds") match {
    case all: ObjectNode if !all.isEmpty =>
      Some(all.properties.asScala.map { e =>
        val partitions = e.getValue.asScala.map(_.asScala.map(_.asText).toSeq).toSeq
        e.getKey.toLong -> partitions
      }.toMap)
    case _ => None
  }

  /** The entry with other ids, or with none. Where it has more than ids beside the watermark, it stays of its version. */
  def withIds(ids: Option[Map[Long, Seq[Seq[String]]]]): CommitEntry = {
    val plain = text.changed { json =>
      json.remove("stateUniqueIds")
      ids.foreach(write(_, json))
    }
    val version = (text.version, ids) match {
      case ("v1" | "v2", None)    => "v1"
      case ("v1" | "v2", Some(_)) => "v2"
      case (other, _)             => other
    }
    copy(text = plain.copy(version = version))
  }

  private def write(ids: Map[Long, Seq[Seq[String]]], json: ObjectNode): Unit = {
    val operators = json.putObject("stateUniqueIds")
    for ((operator, partitions) <- ids.toSeq.sortBy(_._1)) {
      val all = operators.putArray(operator.toString)
      partitions.foreach { stores =>
        val one: ArrayNode = all.addArray()
        stores.foreach(one.add)
      }
    }
  }
}
