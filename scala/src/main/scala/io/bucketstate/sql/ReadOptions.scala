package io.bucketstate.sql

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.bucketstate.error.InvalidException

/**
 * What a reader of the state was asked for. Immutable.
 *
 * @param batchId    None for the newest that is committed
 * @param operatorId None where there is one alone
 */
private[bucketstate] final case class ReadOptions(
    path: String,
    batchId: Option[Long] = None,
    operatorId: Option[Long] = None,
    storeName: Option[String] = None,
    joinSide: Option[String] = None,
    stateVarName: Option[String] = None,
    readRegisteredTimers: Boolean = false
)

private[bucketstate] object ReadOptions {
  val Path = "path"
  val BatchId = "batchId"
  val OperatorId = "operatorId"
  val StoreName = "storeName"
  val JoinSide = "joinSide"
  val StateVarName = "stateVarName"
  val ReadRegisteredTimers = "readRegisteredTimers"

  val All: Seq[String] =
    Seq(Path, BatchId, OperatorId, StoreName, JoinSide, StateVarName, ReadRegisteredTimers)

  /** Options of Spark's source `statestore` alone, which reads checkpoints of this project, too. */
  private val Sparks =
    Set("readChangeFeed", "changeStartBatchId", "changeEndBatchId", "snapshotStartBatchId") ++
      Set("snapshotPartitionId", "flattenCollectionTypes")

  /** Throws `InvalidException`, which names the option. */
  def of(options: CaseInsensitiveStringMap): ReadOptions = {
    options.asCaseSensitiveMap.keySet.asScala.toSeq.sorted.foreach(requireKnown)
    def get(name: String): Option[String] =
      Option(options.get(name)).map(_.trim).filter(_.nonEmpty)
    val all = ReadOptions(
      get(Path).getOrElse {
        throw new InvalidException(
          "The state of no checkpoint was asked for: option path is not set",
          "Give the path that the query was started with as checkpointLocation, to load(...) or as option path."
        )
      },
      get(BatchId).map(number(BatchId, _)),
      get(OperatorId).map(number(OperatorId, _)),
      get(StoreName),
      get(JoinSide).map(oneOf(JoinSide, Seq("left", "right"))),
      get(StateVarName),
      get(ReadRegisteredTimers)
        .map(oneOf(ReadRegisteredTimers, Seq("true", "false")))
        .contains("true")
    )
    requireOne(JoinSide -> all.joinSide.isDefined, StoreName -> all.storeName.isDefined)
    requireOne(
      StateVarName -> all.stateVarName.isDefined,
      ReadRegisteredTimers -> all.readRegisteredTimers
    )
    all
  }

  /** A name that is not known would be a wish that is not heard: for a batch, say. */
  private def requireKnown(name: String): Unit = {
    def isOneOf(names: Iterable[String]) = names.exists(_.equalsIgnoreCase(name))
    if (name.equalsIgnoreCase("paths")) {
      throw new InvalidException(
        "The state of several checkpoints was asked for",
        "Load each by itself, and union them."
      )
    }
    if (isOneOf(Sparks)) {
      throw new InvalidException(
        s"Option $name is one of Spark's source statestore, and not of bucketstate",
        "Read with spark.read.format(\"statestore\"), which reads these checkpoints as well, or leave it out."
      )
    }
    if (!isOneOf(All)) {
      throw new InvalidException(
        s"Option $name is not known",
        s"Those that are: ${All.mkString(", ")}."
      )
    }
  }

  private def number(option: String, text: String): Long =
    text.toLongOption.filter(_ >= 0).getOrElse {
      throw new InvalidException(
        s"Option $option is '$text'",
        "Give a whole number from 0 on, or leave it out."
      )
    }

  private def oneOf(option: String, values: Seq[String])(text: String): String = {
    val value = text.toLowerCase(Locale.ROOT)
    if (!values.contains(value)) {
      throw new InvalidException(
        s"Option $option is '$text'",
        s"Give one of ${values.mkString(", ")}, or leave it out."
      )
    }
    value
  }

  private def requireOne(one: (String, Boolean), other: (String, Boolean)): Unit =
    if (one._2 && other._2) {
      throw new InvalidException(
        s"Options ${one._1} and ${other._1} are both set",
        "Each says what is read: leave one out."
      )
    }
}
