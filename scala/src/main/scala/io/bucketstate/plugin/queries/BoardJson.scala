package io.bucketstate.plugin.queries

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.bucketstate.plugin.status.StatusJson

/** What a board shows as a text: the history server keeps it between a log that was read and its pages. */
private[plugin] object BoardJson {
  private val mapper = new ObjectMapper

  def write(view: BoardView): String = {
    val root = mapper.createObjectNode()
    val queries = root.putArray("queries")
    view.queries.foreach(query => writeQuery(queries.addObject(), query))
    val executors = root.putArray("executors")
    view.executors.foreach { one =>
      executors
        .addObject()
        .put("executor", one.executor)
        .put("memoryBytes", one.memoryBytes)
        .put("memoryLimit", one.memoryLimit)
        .put("queued", one.queued)
        .put("stores", one.stores)
        .put("isLost", one.isLost)
    }
    mapper.writeValueAsString(root)
  }

  def read(text: String): BoardView = {
    val root = mapper.readTree(text)
    BoardView(
      each(root, "queries")(readQuery),
      each(root, "executors") { node =>
        ExecutorView(
          node.required("executor").asText,
          node.required("memoryBytes").asLong,
          node.required("memoryLimit").asLong,
          node.required("queued").asInt,
          node.required("stores").asInt,
          node.required("isLost").asBoolean
        )
      }
    )
  }

  private def writeQuery(node: ObjectNode, query: QueryView): Unit = {
    node
      .put("run", query.run)
      .put("id", query.id)
      .put("name", query.name)
      .put("started", query.started)
      .put("seen", query.seen)
    query.end.foreach { end =>
      val at = node.putObject("end")
      end.failure.foreach(at.put("failure", _))
    }
    val batches = node.putArray("batches")
    query.batches.foreach(batch => writeBatch(batches.addObject(), batch))
    val stores = node.putArray("stores")
    query.stores.foreach { placed =>
      StatusJson.writeStore(stores.addObject().put("executor", placed.executor), placed.status)
    }
  }

  private def readQuery(node: JsonNode): QueryView = QueryView(
    node.required("run").asText,
    node.required("id").asText,
    node.required("name").asText,
    node.required("started").asText,
    Option(node.get("end")).map(end => QueryEnd(Option(end.get("failure")).map(_.asText))),
    node.required("seen").asLong,
    each(node, "batches")(readBatch),
    each(node, "stores") { store =>
      PlacedStore(store.required("executor").asText, StatusJson.readStore(store))
    }
  )

  private def writeBatch(node: ObjectNode, batch: Batch): Unit = {
    node
      .put("id", batch.id)
      .put("timestamp", batch.timestamp)
      .put("isWatermarked", batch.isWatermarked)
      .put("isFirst", batch.isFirst)
    writeNumbers(node.putObject("phases"), batch.phases)
    val operators = node.putArray("operators")
    batch.operators.foreach { operator =>
      val at = operators.addObject().put("name", operator.name).put("isOurs", operator.isOurs)
      writeNumbers(at.putObject("values"), operator.values)
    }
  }

  private def readBatch(node: JsonNode): Batch = Batch(
    node.required("id").asLong,
    node.required("timestamp").asText,
    readNumbers(node.required("phases")),
    node.required("isWatermarked").asBoolean,
    node.required("isFirst").asBoolean,
    each(node, "operators") { operator =>
      OperatorBatch(
        operator.required("name").asText,
        operator.required("isOurs").asBoolean,
        readNumbers(operator.required("values"))
      )
    }
  )

  private def each[A](node: JsonNode, name: String)(read: JsonNode => A): Vector[A] =
    node.required(name).elements.asScala.map(read).toVector

  private def writeNumbers(node: ObjectNode, numbers: Map[String, Long]): Unit =
    numbers.foreach { case (name, number) => node.put(name, number) }

  private def readNumbers(node: JsonNode): Map[String, Long] =
    node.properties.asScala.map(e => e.getKey -> e.getValue.asLong).toMap
}
