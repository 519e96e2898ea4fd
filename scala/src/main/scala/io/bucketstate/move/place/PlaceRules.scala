package io.bucketstate.move.place

import org.apache.spark.sql.types.StructType

/**
 * Where Spark's operators put their keys: for each operator, store and column family the part of the key that is hashed. By
 * reading Spark's planner and state managers, and not by its own extractors for offline work, which are wrong for
 * aggregations without keys, for limits and for joins of state format 4.
 */
private[bucketstate] object PlaceRules {
  val TransformWithState: Set[String] =
    Set(
      "transformWithStateExec",
      "transformWithStateInPandasExec",
      "transformWithStateInPySparkExec"
    )
  val Join = "symmetricHashJoin"

  /**
   * The rule; None for an operator or a family that is not known.
   *
   * @param maps names of the map variables of a transformWithState
   */
  def of(
      operator: String,
      store: String,
      family: String,
      key: StructType,
      maps: Set[String]
  ): Option[Deciding] = operator match {
    case "globalLimit"                      => Some(Deciding.Nothing)
    case _ if key.isEmpty                   => Some(Deciding.Nothing)
    case "stateStoreSave"                   => Some(Deciding.Whole)
    case "dedupe" | "dedupeWithinWatermark" => Some(Deciding.Whole)
    case "flatMapGroupsWithState"           => Some(Deciding.Whole)
    case "applyInPandasWithState"           => Some(Deciding.Whole)
    case "sessionWindowStateStoreSaveExec"  => Some(Deciding.AllButLast)
    case Join                               => ofJoin(if (family == "default") store else family)
    case name if TransformWithState.contains(name) => Some(ofTransform(family, key, maps))
    case _                                         => None
  }

  private def ofJoin(name: String): Option[Deciding] =
    if (name.endsWith("-keyToNumValues")) Some(Deciding.Whole)
    else if (
      name.endsWith("-keyWithIndexToValue") || name.endsWith("-keyWithTsToValues") ||
      name.endsWith("-tsWithKey")
    ) Some(Deciding.AllButLast)
    else None

  /** A key of one field is one of a family that a grouping key lies in whole. */
  private def ofTransform(family: String, key: StructType, maps: Set[String]): Deciding =
    if (family.startsWith("$ttl_")) {
      // Behind the time of expiry lies what expires: of a map the pair of both keys, side by side in Spark 4.0.
      if (maps.contains(family.stripPrefix("$ttl_")) && key.length == 2) Deciding.Within(Seq(1, 0))
      else Deciding.Within(Seq(1))
    } else if (family.endsWith("_keyToTimestamp")) Deciding.Within(Seq(0))
    else if (family.endsWith("_timestampToKey")) Deciding.Within(Seq(1))
    else if (maps.contains(family)) Deciding.Within(Seq(0))
    else Deciding.Whole
}
