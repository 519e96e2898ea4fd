package io.bucketstate.move.log

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ObjectNode

/** An entry of a query's offset log: where its sources were, and with which settings the batch was planned. Immutable. */
private[bucketstate] final case class OffsetEntry(batch: Long, text: LogText) {

  /** The settings that Spark recorded; they overrule those of the session at a restart. */
  def settings: Map[String, String] = text.document.path("conf") match {
    case conf: ObjectNode =>
      conf.properties.asScala.map(e => e.getKey -> e.getValue.asText).toMap
    case _ => Map.empty
  }

  /** Partitions of stateful operators; None where the query recorded none. */
  def partitions: Option[Int] = settings.get(OffsetEntry.Partitions).flatMap(_.toIntOption)

  /**
   * Whether Spark has recorded of each column of a state that it may be null. It does so since 4.3, for queries that begin
   * with it, but for the values of state variables.
   */
  def recordsNoNulls: Boolean = settings.get(OffsetEntry.AlwaysNullable).contains("true")

  /** Whether a key of `dropDuplicates` has its columns as they were given. It has since Spark 4.3, in queries that begin with it. */
  def ordersKeysAsGiven: Boolean = settings.get(OffsetEntry.KeysAsGiven).contains("true")

  def watermarkMs: Long = text.document.path("batchWatermarkMs").asLong(0L)

  def plannedMs: Long = text.document.path("batchTimestampMs").asLong(0L)

  /** Whether each source is named in front of its offset, instead of being known by its place. */
  private def isNamed: Boolean = text.version == "v2"

  /** The entry with some settings changed, and all others as they are. */
  def withSettings(changed: Map[String, String]): OffsetEntry = copy(text = text.changed { json =>
    val conf = json.withObject("/conf")
    changed.foreach { case (key, value) => conf.put(key, value) }
  })

  /** Whether it is another one but for the number of partitions. */
  def isCopyOf(other: OffsetEntry): Boolean = {
    def alike(entry: OffsetEntry) = entry.withSettings(Map(OffsetEntry.Partitions -> "")).text
    alike(this) == alike(other)
  }

  /** The sources' offsets, one text each. */
  def offsets: Seq[String] = text.behind.filter(_.nonEmpty)

  /** The names of the sources in such texts; none where sources are known by their places. */
  def namesIn(offsets: Seq[String]): Seq[String] =
    if (isNamed) offsets.map(_.takeWhile(_ != ':')) else Nil

  /** Whether one of such texts has no offset, so that its source begins where its options say. */
  def isWithout(offset: String): Boolean = if (isNamed) offset.endsWith(":-") else offset == "-"

  /** The entry for sources that begin where their options say. */
  def withoutOffsets: OffsetEntry =
    withOffsets(if (isNamed) namesIn(offsets).map(name => s"$name:-") else offsets.map(_ => "-"))

  def withOffsets(lines: Seq[String]): OffsetEntry = copy(text = text.copy(behind = lines))
}

private[bucketstate] object OffsetEntry {
  val Partitions = "spark.sql.shuffle.partitions"
  val KeysAsGiven = "spark.sql.dropDuplicates.deterministicKeyOrder.enabled"
  val AlwaysNullable = "spark.sql.streaming.statefulOperator.alwaysNullableOutput.enabled"
}
