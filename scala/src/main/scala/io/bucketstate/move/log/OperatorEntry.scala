package io.bucketstate.move.log

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

import io.bucketstate.checkpoint.io.Damage

/**
 * A store of an operator, of which each partition has one.
 *
 * @param schemaFiles whole paths as they were recorded, oldest first; none where each partition's folder has its own
 */
private[bucketstate] final case class StoreEntry(
    name: String,
    partitions: Int,
    prefixColumns: Int,
    schemaFiles: Seq[String]
)

/** A state variable of transformWithState; `kind` is `ValueState` and its like. */
private[bucketstate] final case class VariableEntry(name: String, kind: String)

/**
 * What Spark recorded of a stateful operator. Immutable.
 *
 * @param file relative to the operator's folder
 */
private[bucketstate] final case class OperatorEntry(
    id: Long,
    name: String,
    stores: Seq[StoreEntry],
    variables: Seq[VariableEntry],
    file: String,
    text: LogText
) {

  /** This entry for an operator with another number of partitions, whose schema files lie in another folder. */
  def moved(partitions: Int, path: String => String): OperatorEntry = {
    val next = text.changed { json =>
      json.path("stateStoreInfo").asScala.foreach {
        case store: ObjectNode =>
          store.put("numPartitions", partitions)
          store.path("stateSchemaFilePaths") match {
            case paths if paths.isArray =>
              val own = store.putArray("stateSchemaFilePaths")
              paths.asScala.foreach(p => own.add(path(p.asText)))
            case _ => ()
          }
        case _ => ()
      }
    }
    copy(text = next)
  }
}

private[bucketstate] object OperatorEntry {

  def of(file: String, text: LogText, damage: Damage): OperatorEntry = {
    val info = text.document.path("operatorInfo")
    val stores = text.document.path("stateStoreInfo").asScala.toSeq
    if (!info.has("operatorId") || stores.isEmpty) {
      throw damage("expected what an operator is, and which stores it has")
    }
    val properties = text.document.path("operatorPropertiesJson").asText("")
    val variables =
      if (properties.isEmpty) Nil
      else
        LogText
          .objectOf(properties, damage)
          .path("stateVariables")
          .asScala
          .map(v => VariableEntry(v.path("stateName").asText, v.path("stateVariableType").asText))
          .toSeq
    OperatorEntry(
      info.path("operatorId").asLong,
      info.path("operatorName").asText,
      stores.map { store =>
        StoreEntry(
          store.path("storeName").asText,
          store.path("numPartitions").asInt,
          store.path("numColsPrefixKey").asInt,
          store.path("stateSchemaFilePaths").asScala.map(_.asText).toSeq
        )
      },
      variables,
      file,
      text
    )
  }
}
