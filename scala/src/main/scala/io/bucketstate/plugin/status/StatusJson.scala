package io.bucketstate.plugin.status

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.{ArrayNode, ObjectNode}
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.bucketstate.config.MetricKey
import io.bucketstate.watch.{OperatorLabel, StoreLabel}

/**
 * What executors and driver tell each other, as texts. They are not sent as objects, because
 * Spark's threads for messages need not find the classes of a jar that came with the application.
 */
private[plugin] object StatusJson {
  private val mapper = new ObjectMapper
  private val keys: Map[String, MetricKey] = MetricKey.all.map(key => key.name -> key).toMap

  def write(status: ExecutorStatus): String = {
    val root = mapper.createObjectNode()
    root
      .put("executor", status.executor)
      .put("memoryBytes", status.memoryBytes)
      .put("memoryLimit", status.memoryLimit)
      .put("queued", status.queued)
    status.loaded.foreach(root.put("loaded", _))
    val stores = root.putArray("stores")
    status.stores.foreach(store => writeStore(stores.addObject(), store))
    val operators = root.putArray("operators")
    status.operators.foreach(operator => writeOperator(operators.addObject(), operator))
    mapper.writeValueAsString(root)
  }

  def readStatus(text: String): ExecutorStatus = {
    val root = mapper.readTree(text)
    ExecutorStatus(
      root.required("executor").asText,
      root.required("memoryBytes").asLong,
      root.required("memoryLimit").asLong,
      root.required("queued").asInt,
      root.required("stores").elements.asScala.map(readStore).toVector,
      root.required("operators").elements.asScala.map(readOperator).toVector,
      Option(root.get("loaded")).map(_.asInt)
    )
  }

  def write(queries: KnownQueries): String = {
    val root = mapper.createObjectNode()
    val names = root.putObject("names")
    queries.names.foreach { case (run, name) => names.put(run, name) }
    queries.ended.foldLeft(root.putArray("ended"))((array, run) => array.add(run))
    root.put("partitions", queries.hasPartitions)
    val moved = root.putArray("moved")
    queries.moved.foreach(label => writeLabel(moved.addObject(), label))
    mapper.writeValueAsString(root)
  }

  def readQueries(text: String): KnownQueries = {
    val root = mapper.readTree(text)
    KnownQueries(
      root.required("names").properties.asScala.map(e => e.getKey -> e.getValue.asText).toMap,
      root.required("ended").elements.asScala.map(_.asText).toSet,
      root.required("partitions").asBoolean,
      root.required("moved").elements.asScala.map(readLabel).toSet
    )
  }

  def writeStore(node: ObjectNode, store: StoreStatus): Unit = {
    writeLabel(node, store.label)
      .put("version", store.version)
      .put("keys", store.keys)
      .put("memoryBytes", store.memoryBytes)
      .put("commits", store.commits)
      .put("changed", store.changed)
      .put("changelogBytes", store.changelogBytes)
      .put("lastChanged", store.last.changed)
      .put("lastNanos", store.last.nanos)
      .put("loaded", store.isLoaded)
    writeValues(node.putObject("gauges"), store.gauges)
  }

  def readStore(node: JsonNode): StoreStatus = StoreStatus(
    readLabel(node),
    node.required("version").asLong,
    node.required("keys").asLong,
    node.required("memoryBytes").asLong,
    node.required("commits").asLong,
    node.required("changed").asLong,
    node.required("changelogBytes").asLong,
    LastCommit(node.required("lastChanged").asLong, node.required("lastNanos").asLong),
    readValues(node.required("gauges")),
    // Logs of before have stores alone that were loaded.
    Option(node.get("loaded")).forall(_.asBoolean)
  )

  private def writeLabel(node: ObjectNode, label: StoreLabel): ObjectNode = node
    .put("run", label.run)
    .put("operator", label.operator)
    .put("partition", label.partition)
    .put("name", label.name)

  private def readLabel(node: JsonNode): StoreLabel = StoreLabel(
    node.required("run").asText,
    node.required("operator").asLong,
    node.required("partition").asInt,
    node.required("name").asText
  )

  private def writeOperator(node: ObjectNode, operator: OperatorStatus): Unit = {
    node.put("run", operator.label.run).put("operator", operator.label.operator)
    writeHistogram(node.putObject("commitTimes"), operator.commitTimes)
    writeHistogram(node.putObject("loadTimes"), operator.loadTimes)
    val failures = node.putObject("failures")
    operator.failures.foreach { case (kind, n) => failures.put(kind, n) }
    writeValues(node.putObject("counters"), operator.counters)
  }

  private def readOperator(node: JsonNode): OperatorStatus = OperatorStatus(
    OperatorLabel(node.required("run").asText, node.required("operator").asLong),
    readHistogram(node.required("commitTimes")),
    readHistogram(node.required("loadTimes")),
    node.required("failures").properties.asScala.map(e => e.getKey -> e.getValue.asLong).toMap,
    readValues(node.required("counters"))
  )

  private def writeHistogram(node: ObjectNode, histogram: Histogram): Unit = {
    node.put("sumNanos", histogram.sumNanos)
    histogram.counts.foldLeft(node.putArray("counts"))((array: ArrayNode, n) => array.add(n))
    ()
  }

  private def readHistogram(node: JsonNode): Histogram = Histogram(
    node.required("counts").elements.asScala.map(_.asLong).toVector,
    node.required("sumNanos").asLong
  )

  private def writeValues(node: ObjectNode, values: Map[MetricKey, Long]): Unit =
    values.foreach { case (key, value) => if (value != 0) node.put(key.name, value) }

  private def readValues(node: JsonNode): Map[MetricKey, Long] =
    node.properties.asScala.flatMap(e => keys.get(e.getKey).map(_ -> e.getValue.asLong)).toMap
}

/**
 * What the driver tells an executor of the queries that it has stores of.
 *
 * @param names by run
 * @param ended runs that the executor may forget
 * @param hasPartitions whether single partitions have figures of their own: one answer for all executors
 * @param moved  stores that were closed on the executor, and that another one has gone on with
 */
final case class KnownQueries(
    names: Map[String, String],
    ended: Set[String],
    hasPartitions: Boolean,
    moved: Set[StoreLabel] = Set.empty
)
