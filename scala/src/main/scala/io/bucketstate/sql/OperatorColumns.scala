package io.bucketstate.sql

import org.apache.spark.sql.types.{BooleanType, StructType}

import io.bucketstate.error.InvalidException
import io.bucketstate.move.place.PlaceRules
import io.bucketstate.move.read.{SourceFamily, SourceOperator, SourceStore}

/** A column family of an operator, and the columns that it is read as. Immutable. */
private[sql] final case class FamilyColumns(
    store: SourceStore,
    family: SourceFamily,
    columns: Seq[StateColumn]
)

/**
 * Finds which column family of an operator options mean. The columns are those of Spark's source `statestore`.
 *
 * @param hidesMatched whether a join keeps beside each row whether it has found another
 */
private[sql] final class OperatorColumns(operator: SourceOperator, hidesMatched: Boolean) {
  import OperatorColumns._

  private def subject = s"Operator ${operator.id} (${operator.name})"

  private val isTransform = PlaceRules.TransformWithState.contains(operator.name)
  private val isJoin = operator.name == PlaceRules.Join

  /** By the names that they are asked for by: of a store that has one alone it is the store's. */
  private val named: Seq[(String, (SourceStore, SourceFamily))] =
    operator.stores.flatMap { store =>
      store.families.map(f => (if (f.isDefault) store.name else f.name) -> (store -> f))
    }

  private val variables =
    operator.entry.variables.filter(v => v.kind != Timers && hasFamily(v.name))

  private def hasFamily(name: String): Boolean = named.exists(_._1 == name)

  /** Throws `InvalidException`, which names an option. */
  def chosen(options: ReadOptions): FamilyColumns = {
    refuse(!isJoin && options.joinSide.isDefined, ReadOptions.JoinSide, "a stream-stream join")
    refuse(!isTransform && options.stateVarName.isDefined, ReadOptions.StateVarName, Transform)
    refuse(
      !isTransform && options.readRegisteredTimers,
      ReadOptions.ReadRegisteredTimers,
      Transform
    )
    if (isTransform) ofTransform(options)
    else if (isJoin) ofJoin(options)
    else {
      options.storeName.filter(_ != Default).foreach(noSuch(ReadOptions.StoreName, _, Seq(Default)))
      plain(operator.stores.head, operator.stores.head.families.head)
    }
  }

  private def ofTransform(options: ReadOptions): FamilyColumns = {
    refuse(options.storeName.exists(_ != Default), ReadOptions.StoreName, "a stream-stream join")
    if (options.readRegisteredTimers) ofTimers
    else {
      val names = variables.map(_.name)
      val name = options.stateVarName.getOrElse {
        throw new InvalidException(
          s"$subject keeps its state in variables: ${listed(names)}",
          s"Name one with option ${ReadOptions.StateVarName}, or set ${ReadOptions.ReadRegisteredTimers}=true for its timers."
        )
      }
      val variable = variables.find(_.name == name).getOrElse {
        noSuch(ReadOptions.StateVarName, name, names)
      }
      val (store, family) = named.toMap.apply(name)
      variable.kind match {
        case "ListState" => plain(store, family, "list_element")
        case "MapState"  =>
          columns(store, family)(
            StateColumn.key("key", family.keySchema, Cut.Field(0)),
            StateColumn.key("user_map_key", family.keySchema, Cut.Field(1)),
            StateColumn.value("user_map_value", family.valueSchema, Cut.All)
          )
        case _ => plain(store, family)
      }
    }
  }

  private def ofTimers: FamilyColumns =
    named.collectFirst { case (name, found) if name.endsWith(TimersByKey) => found } match {
      case Some((store, family)) =>
        columns(store, family)(
          StateColumn.key("key", family.keySchema, Cut.Field(0)),
          StateColumn.key("expiration_timestamp_ms", family.keySchema, Cut.Field(1))
        )
      case None =>
        throw new InvalidException(
          s"$subject has no timers: its time mode is none",
          s"Leave out option ${ReadOptions.ReadRegisteredTimers}, and name a variable with ${ReadOptions.StateVarName}."
        )
    }

  private def ofJoin(options: ReadOptions): FamilyColumns =
    (options.joinSide, options.storeName) match {
      case (Some(side), _) =>
        val (store, family) = named
          .collectFirst { case (name, found) if Rows.exists(r => name == s"$side-$r") => found }
          .getOrElse(noSuch(ReadOptions.JoinSide, side, named.map(_._1)))
        ofSide(store, family)
      case (_, Some(name)) =>
        val (store, family) =
          named.toMap.getOrElse(name, noSuch(ReadOptions.StoreName, name, named.map(_._1)))
        plain(store, family)
      case _ =>
        throw new InvalidException(
          s"$subject keeps the rows of two sides",
          s"Give option ${ReadOptions.JoinSide}, left or right; or ${ReadOptions.StoreName}, one of ${listed(named.map(_._1))}."
        )
    }

  /** The keys and rows that were joined, without what the join puts behind them. */
  private def ofSide(store: SourceStore, family: SourceFamily): FamilyColumns = {
    val isMarked = hidesMatched && endsMatched(family.valueSchema)
    columns(store, family)(
      StateColumn.key("key", family.keySchema, Cut.AllButLast),
      StateColumn.value("value", family.valueSchema, if (isMarked) Cut.AllButLast else Cut.All)
    )
  }

  private def endsMatched(value: StructType): Boolean =
    value.lastOption.exists(f => f.name == "matched" && f.dataType == BooleanType)

  /** Keys and values as they are stored. */
  private def plain(
      store: SourceStore,
      family: SourceFamily,
      value: String = "value"
  ): FamilyColumns =
    columns(store, family)(
      StateColumn.key("key", family.keySchema, Cut.All),
      StateColumn.value(value, family.valueSchema, Cut.All)
    )

  /** These, and the partition behind them. */
  private def columns(store: SourceStore, family: SourceFamily)(
      first: StateColumn*
  ): FamilyColumns = FamilyColumns(store, family, first :+ StateColumn.Partition)

  private def refuse(isRefused: Boolean, option: String, only: String): Unit =
    if (isRefused) {
      throw new InvalidException(
        s"Option $option is for $only, and operator ${operator.id} is '${operator.name}'",
        "Leave it out."
      )
    }

  private def noSuch(option: String, found: String, names: Seq[String]): Nothing =
    throw new InvalidException(
      s"Option $option is '$found', which $subject does not have",
      s"It has ${listed(names)}."
    )
}

private[sql] object OperatorColumns {
  private final val Default = "default"
  private final val Transform = "transformWithState"
  private final val Timers = "TimerState"
  private final val TimersByKey = "_keyToTimestamp"

  /** The families of a join that have its rows, behind the name of a side. */
  private val Rows = Seq("keyWithIndexToValue", "keyWithTsToValues")

  private def listed(names: Seq[String]): String =
    if (names.isEmpty) "none" else names.distinct.sorted.mkString(", ")
}
