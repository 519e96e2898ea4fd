package io.bucketstate.plugin.doctor

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/**
 * One thing that is slow or at risk. Immutable.
 *
 * @param about    which operator, partition or store
 * @param figures  that led to it, by the names of Spark's fields and the provider's metrics
 * @param help     what to do about it
 * @param settings keys of settings that help
 */
private[plugin] final case class Advice(
    rule: String,
    about: String,
    what: String,
    figures: Seq[(String, Double)],
    help: String,
    settings: Seq[String]
)

/**
 * What is slow or at risk, when, and what helps. Immutable.
 *
 * @param worst  a rule about one store is about that of which this is largest
 * @param byName whether the stores of each name have a worst one
 */
private[doctor] final case class Rule(
    name: String,
    what: String,
    when: Seq[JsonNode],
    figures: Seq[(String, JsonNode)],
    leavesOutZeros: Boolean,
    help: String,
    settings: Seq[String],
    worst: Option[JsonNode],
    byName: Boolean
) {

  /** What it says of these figures; None where it has nothing to say. */
  def advice(about: String, terms: Terms): Option[Advice] = Option.when(terms.hold(when)) {
    val shown = figures.flatMap { case (name, term) => terms.value(term).map(name -> _) }
    Advice(
      name,
      about,
      what,
      if (leavesOutZeros) shown.filter(_._2 != 0) else shown,
      help,
      settings
    )
  }
}

/**
 * The rules of `bucketstate doctor`: the file that Python reads, as this jar has it.
 *
 * @param leastBatches fewer, after the first of each run, say nothing
 * @param operators    about the batches of one operator
 * @param stores       about the stores of one operator
 * @param restart      what a restart takes
 */
private[doctor] final case class Rules(
    leastBatches: Int,
    operators: Seq[Rule],
    stores: Seq[Rule],
    restart: RestartTimes
)

/** What the first batch of a new executor takes, in seconds: `bucketstate.sizing` has the same numbers. */
private[doctor] final case class RestartTimes(
    seconds: Double,
    secondsPerKey: Double,
    secondsPerUpdate: Double
)

private[doctor] object Rules {
  private val File = "rules.json"

  lazy val all: Rules = {
    val root = Using.resource(getClass.getResourceAsStream(File))(new ObjectMapper().readTree(_))
    val restart = root.required("restart")
    Rules(
      root.required("leastBatches").asInt,
      each(root, "operators").map(rule),
      each(root, "stores").map(rule),
      RestartTimes(
        restart.required("seconds").asDouble,
        restart.required("secondsPerKey").asDouble,
        restart.required("secondsPerUpdate").asDouble
      )
    )
  }

  private def rule(node: JsonNode): Rule = Rule(
    node.required("name").asText,
    node.required("what").asText,
    each(node, "when"),
    each(node, "figures").map(figure => figure.get(0).asText -> figure.get(1)),
    node.path("leavesOutZeros").asBoolean(false),
    node.required("help").asText,
    each(node, "settings").map(_.asText),
    Option(node.get("worst")),
    node.path("byName").asBoolean(false)
  )

  private def each(node: JsonNode, name: String): Seq[JsonNode] =
    node.path(name).elements.asScala.toVector
}
