package io.bucketstate.plugin.queries

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.bucketstate.config.MetricKey

/**
 * One batch of a query, as Spark reported it. Immutable.
 *
 * @param phases        how long each took, in milliseconds, by Spark's names
 * @param isWatermarked whether the query has a watermark
 * @param isFirst       whether it is the first of its run, which is a start
 */
private[plugin] final case class Batch(
    id: Long,
    timestamp: String,
    phases: Map[String, Long],
    isWatermarked: Boolean,
    isFirst: Boolean,
    operators: Vector[OperatorBatch]
)

/**
 * What a batch did to one stateful operator. Immutable.
 *
 * @param isOurs whether its provider is this project's
 * @param values Spark's fields and the provider's metrics by their names; one that is not there is 0
 */
private[plugin] final case class OperatorBatch(
    name: String,
    isOurs: Boolean,
    values: Map[String, Long]
) {
  def apply(name: String): Long = values.getOrElse(name, 0L)
}

private[plugin] object Batch {
  private val mapper = new ObjectMapper

  /** A metric that the provider always reports. */
  private val Ours = MetricKey.ChangelogBytes.name

  /** A progress of a query in Spark's JSON; None for a trigger that had no batch. */
  def of(progress: String): Option[Batch] = {
    val root = mapper.readTree(progress)
    Option.when(root.path("durationMs").has("addBatch")) {
      Batch(
        root.path("batchId").asLong,
        root.path("timestamp").asText,
        numbers(root.path("durationMs")),
        root.path("eventTime").has("watermark"),
        isFirst = false,
        root.path("stateOperators").elements.asScala.map(operator).toVector
      )
    }
  }

  private def operator(node: JsonNode): OperatorBatch = {
    val metrics = node.path("customMetrics")
    OperatorBatch(
      node.path("operatorName").asText("unknown"),
      metrics.has(Ours),
      numbers(metrics) ++ numbers(node)
    )
  }

  private def numbers(node: JsonNode): Map[String, Long] =
    node.properties.asScala.iterator
      .filter(e => e.getValue.isIntegralNumber && e.getValue.asLong != 0)
      .map(e => e.getKey -> e.getValue.asLong)
      .toMap
}
