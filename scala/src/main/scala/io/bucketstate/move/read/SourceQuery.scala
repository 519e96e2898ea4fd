package io.bucketstate.move.read

import scala.util.Using

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.{
  NoPrefixKeyStateEncoderSpec,
  PrefixKeyScanStateEncoderSpec,
  SparkSessions,
  StateSchemaCompatibilityChecker,
  StateStoreColFamilySchema,
  StateStoreConf
}
import org.apache.spark.sql.internal.SQLConf

import io.bucketstate.checkpoint.io.{FileStores, StorageErrors}
import io.bucketstate.error.InvalidException
import io.bucketstate.move.log.{
  Abandoned,
  CommitEntry,
  OffsetEntry,
  OperatorEntry,
  QueryFolder,
  QueryLogs,
  StoreEntry
}
import io.bucketstate.move.place.PlaceRules

/**
 * A query at a batch that it has committed: what its checkpoint says of its state. Everything is read when it is made, but
 * for the state itself, and what was planned later.
 *
 * @param batch the batch
 * @param files all files with their lengths, as they were before anything was read; for whoever holds them against
 *              those that are there later
 * @param only  the operator that is looked at; None for all. Others may be of a kind that is not known here
 */
private[bucketstate] final class SourceQuery(
    session: SparkSession,
    val folder: QueryFolder,
    val batch: Long,
    insisted: Option[Provider],
    val files: Map[String, Long] = Map.empty,
    only: Option[Long] = None
) {
  private[this] val hadoop = SparkSessions.hadoopConf(session)
  private[this] val logs = new QueryLogs(folder)

  val offset: OffsetEntry = logs.offset(batch)

  val commit: CommitEntry = logs.commit(batch)

  /** What was begun after it and is no batch of the query's. */
  lazy val abandoned: Option[Abandoned] = logs.abandoned

  /** Batches of the query's that were planned after it. */
  lazy val planned: Seq[Long] =
    logs.offsets.filter(n => n > batch && !abandoned.exists(_.batch == n))

  /** Whether the query has committed no batch after it. */
  lazy val isNewest: Boolean =
    !logs.commits.exists(n => n > batch && !abandoned.exists(_.skipped(n)))

  def version: Long = batch + 1

  val provider: Provider = insisted.getOrElse(Provider.of(offset.settings.get(Provider.Setting)))

  /** The class that the query was run with, where it is not the one whose files these are said to be. */
  def otherClass: Option[String] =
    offset.settings.get(Provider.Setting).filter(_ != provider.className)

  /** The session's settings with what the query recorded, as its tasks would have them. */
  val settings: SQLConf = {
    val all = SparkSessions.settings(session)
    SparkSessions.setRecorded(offset.settings, all)
    all.setConfString(Provider.Setting, provider.className)
    all.setConfString(FileStores.FormatSetting, if (commit.ids.isDefined) "2" else "1")
    all
  }

  /**
   * Partitions of operators with keys. Where the batch does not say it, as that of a query of old, and of one of Spark 4.2.0
   * in the second form of the offset log until its first restart, the operators do.
   */
  lazy val partitions: Int = offset.partitions.getOrElse {
    val keyed = operators.filterNot(_.isGlobal)
    val recorded = keyed.flatMap(_.entry.stores).map(_.partitions).distinct
    if (recorded.size > 1) {
      throw new InvalidException(
        s"${folder.locationOf(s"offsets/$batch")} has no ${OffsetEntry.Partitions}, and the operators in 'state' have " +
          s"${recorded.sorted.mkString(" and ")} partitions",
        "Start the query once, which records it, and take a batch that it makes then."
      )
    }
    recorded.headOption.getOrElse(settings.numShufflePartitions)
  }

  /** Whether each operator was planned to lie by all of its columns: Spark does so since 3.3. */
  def isStrict: Boolean =
    offset.settings
      .get("spark.sql.streaming.statefulOperator.useStrictDistribution")
      .contains("true")

  val operators: Seq[SourceOperator] = logs.operators.filter(id => only.forall(_ == id)).map { id =>
    val entry = logs.operator(id, batch)
    SourceOperator(entry, entry.stores.zipWithIndex.map { case (s, n) => storeOf(entry, s, n) })
  }

  if (operators.isEmpty) {
    throw new InvalidException(
      s"${folder.location} holds no state: its folder 'state' is missing or empty",
      "A query without stateful operators has nothing to move; copy its checkpoint instead."
    )
  }

  /** Settings of tasks that read the state. */
  def storeConf: StateStoreConf = {
    val all = settings.clone()
    // A session in which no query ran has no coordinator, which Spark's provider would tell of what it reads.
    all.setConfString("spark.sql.streaming.stateStore.coordinatorReportSnapshotUploadLag", "false")
    // Spark's RocksDB provider begins a changelog with every store that it opens as if to write, as one with column families
    // is. It reads those that are there in any case. What it does without is its own repair, which takes an older snapshot
    // where the last one is damaged: that is an error here.
    all.setConfString(SourceQuery.ChangelogSetting, "false")
    new StateStoreConf(all)
  }

  private def storeOf(operator: OperatorEntry, store: StoreEntry, number: Int): SourceStore = {
    val isTransform = PlaceRules.TransformWithState.contains(operator.name)
    val maps = operator.variables.filter(_.kind == "MapState").map(_.name).toSet
    val lists = operator.variables.filter(_.kind == "ListState").map(_.name).toSet
    val joinsByTime =
      operator.name == PlaceRules.Join &&
        settings.getConf(SQLConf.STREAMING_JOIN_STATE_FORMAT_VERSION) >= 4
    val paths = store.schemaFiles.map(pathOf(operator.id, store.name, _))
    val file = paths.lastOption.getOrElse {
      val folder = if (store.name == "default") "" else s"/${store.name}"
      s"state/${operator.id}/0$folder/_metadata/schema"
    }
    val all = schemasIn(new Path(folder.path, file)).map { schema =>
      val name = schema.colFamilyName
      val spec = schema.keyStateEncoderSpec.getOrElse {
        if (store.prefixColumns > 0)
          PrefixKeyScanStateEncoderSpec(schema.keySchema, store.prefixColumns)
        else NoPrefixKeyStateEncoderSpec(schema.keySchema)
      }
      val deciding =
        PlaceRules.of(operator.name, store.name, name, schema.keySchema, maps).getOrElse {
          throw new InvalidException(
            s"Operator ${operator.id} of ${folder.location} is '${operator.name}', and keeps '$name' in store " +
              s"'${store.name}': it is not known where its keys lie",
            "Clone the checkpoint instead, which moves no keys, or use a bucketstate that knows the operator."
          )
        }
      SourceFamily(
        schema,
        spec,
        multiValued = joinsByTime || lists.contains(name),
        isInternal = name.startsWith("$") || name.endsWith("-keyToNumValues") ||
          name.endsWith("-tsWithKey"),
        deciding
      )
    }
    val (default, others) = all.partition(_.isDefault)
    // Operators that keep all in families of their own leave the default one empty.
    val used = if (others.isEmpty) default else others.sortBy(_.name)
    SourceStore(
      operator.id,
      operator.name,
      store.name,
      used,
      default.headOption.getOrElse(SourceStore.unused(all.head)),
      if (isTransform) paths.filter(folder.exists).map(folder.locationOf) else Nil,
      commit.ids.map(idsOf(_, operator.id, number))
    )
  }

  private def idsOf(all: Map[Long, Seq[Seq[String]]], operator: Long, number: Int): Seq[String] =
    all
      .getOrElse(
        operator,
        throw new InvalidException(
          s"${folder.locationOf(s"commits/$batch")} names no checkpoint ids of operator $operator",
          "Take another batch with --batch, or restore the file from a backup."
        )
      )
      // Stores that share a folder have one id.
      .map(stores => stores(math.min(number, stores.length - 1)))

  /** Where a schema file is here: Spark records whole paths, and a checkpoint may have been copied. */
  private def pathOf(operator: Long, store: String, recorded: String): String = {
    val name = recorded.split('/').last
    val own = s"state/$operator/_stateSchema/$store/$name"
    if (folder.exists(own)) own else s"state/$operator/_stateSchema/default/$name"
  }

  /**
   * Families that a store had in an older form of the query, and that its newest schema does not name. It may have no keys in
   * them, or no such families any more.
   */
  def formerFamilies(store: SourceStore): Seq[String] = {
    val named = store.numbered.map(_.name).toSet
    val all = store.schemaFiles.flatMap(file => schemasIn(new Path(file)).map(_.colFamilyName))
    all.distinct.filterNot(named)
  }

  private def schemasIn(path: Path): Seq[StateStoreColFamilySchema] =
    StorageErrors.translate(path.toString, "could not be read") {
      Using.resource(path.getFileSystem(hadoop).open(path))(
        StateSchemaCompatibilityChecker.readSchemaFile(_)
      )
    }
}

private[bucketstate] object SourceQuery {

  /** Whether Spark's RocksDB provider writes changelogs. */
  val ChangelogSetting = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
}

/** A stateful operator of a query: what Spark recorded of it, and its stores. */
private[bucketstate] final case class SourceOperator(
    entry: OperatorEntry,
    stores: Seq[SourceStore]
) {
  def id: Long = entry.id

  def name: String = entry.name

  def isGlobal: Boolean = stores.forall(_.isGlobal)
}
