package io.bucketstate.move

import java.time.Clock

import scala.collection.mutable.ArrayBuffer
import scala.util.Using

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkException
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.execution.streaming.state.{SparkSessions, StateStoreConf}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.{AnalysisException, DataFrame, SparkSession}

import io.bucketstate.checkpoint.changelog.ChangelogReader
import io.bucketstate.checkpoint.io.{
  Attempt,
  ChangelogName,
  CheckpointFiles,
  FileStores,
  VersionedFile
}
import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{CorruptException, InvalidException}
import io.bucketstate.move.job.{
  FormerFamilies,
  JobFailure,
  OwnHeads,
  SideBySide,
  StoreHead,
  StoreWork
}
import io.bucketstate.move.log.{OffsetEntry, QueryFolder, QueryLogs}
import io.bucketstate.move.place.PlaceRules
import io.bucketstate.move.read.ColumnNames.unique
import io.bucketstate.move.read.{Provider, SourceOperator, SourceQuery, SourceStore}
import io.bucketstate.move.upsert.{FrameColumns, RowShape, UpsertRules}
import io.bucketstate.move.write.{EmptyStores, TargetFamily}
import io.bucketstate.spark.SparkSettings

/**
 * Finds out what a move would do. It reads logs and metadata; of stores of this project the heads of their files, too, and
 * stores of RocksDB where the query may have left variables in them that it does not declare any more.
 */
private[move] final class Planner(
    spark: SparkSession,
    request: MoveRequest,
    frame: Option[DataFrame],
    clock: Clock
) {
  import Planner._

  private[this] val conf = SparkSessions.hadoopConf(spark)
  private[this] val objectStores = Publishing.objectStores(spark)
  private[this] val findings = ArrayBuffer.empty[Finding]
  private[this] val source = open()
  private[this] val logs = new QueryLogs(source.folder)
  private[this] val provider = request.provider
  private[this] val partitions = request.partitions.getOrElse(source.partitions)
  private[this] val hasIds =
    request.format.fold(source.commit.ids.isDefined && provider != Provider.Hdfs)(_ == 2)

  def plan(): PlannedMove = {
    check()
    val condition = request.deleteKeys.map(deleting)
    val rows = Option.when(request.kind == MoveKind.Upsert)(rowsGiven).flatten
    val shape = rows.map(shaped)
    val heads =
      if (isOwn(source.provider)) OwnHeads.of(spark, source, conf)
      else Map.empty[OwnHeads.Named, StoreHead]
    checkUndeclared(
      if (source.provider == Provider.RocksDb) FormerFamilies.of(spark, source, conf)
      else heads.map { case (name, head) => name -> head.undeclared }
    )
    val works =
      source.operators.flatMap(op => op.stores.map(workOf(op, _, condition, shape, heads)))
    val bytes = source.files.groupMapReduce { case (name, _) => operatorOf(name) }(_._2)(_ + _)
    new PlannedMove(
      request,
      source,
      works,
      partitions,
      hasIds,
      bytes.collect { case (Some(id), n) => id -> n },
      sessionNeeds,
      findings.toSeq.sortBy(f => Order.indexOf(f.severity)),
      rows
    )
  }

  /** The columns of the key that rows would be for, by the names that rows have for them. */
  def keyColumns: Seq[String] =
    unique(UpsertRules.familyOf(chosen(source.operators)).keySchema.fieldNames.toSeq)

  private def open(): SourceQuery = {
    val folder = new QueryFolder(new Path(request.source), conf, objectStores)
    val logs = new QueryLogs(folder)
    if (logs.offsets.isEmpty) {
      throw new InvalidException(
        s"${folder.location} is not the checkpoint of a streaming query: it has no folder 'offsets'",
        "Give the path that the query was started with as checkpointLocation."
      )
    }
    val commits = logs.finished
    val batch = request.batch.orElse(commits.lastOption).getOrElse {
      throw new InvalidException(
        s"${folder.location} has no finished batch",
        "Let the query finish one, or begin it with the provider that it is to have."
      )
    }
    if (!commits.contains(batch) || !logs.offsets.contains(batch)) {
      val first = commits.find(n => n == 0 || logs.offsets.contains(n - 1))
      throw new InvalidException(
        s"${folder.location} has no finished batch $batch",
        s"Those that are there are ${first.mkString} to ${commits.lastOption.mkString}."
      )
    }
    val files = folder.lengths("")
    new SourceQuery(spark, folder, batch, request.sourceProvider.map(Provider.named), files)
  }

  private def isOwn(provider: Provider): Boolean = provider == Provider.Ours

  private def check(): Unit = {
    request.kind match {
      case MoveKind.Import if isOwn(source.provider) =>
        error("The state is bucketstate's already: use rewrite.")
      case MoveKind.Import if !isOwn(provider) =>
        error("An import is into bucketstate: use export, with --to.")
      case MoveKind.Export if isOwn(provider) =>
        error("An export is into a provider of Spark's: give --to rocksdb or --to hdfs.")
      case MoveKind.Rewrite if !isOwn(source.provider) || !isOwn(provider) =>
        error("A rewrite is from bucketstate to bucketstate: use import or export.")
      case MoveKind.Upsert if !isOwn(source.provider) || !isOwn(provider) =>
        error("An upsert is from bucketstate to bucketstate: import the state first.")
      case MoveKind.Upsert if frame.isEmpty && request.rows.isEmpty =>
        error("An upsert takes rows: give --from, or a DataFrame.")
      case MoveKind.Handover if request.offsets.isEmpty =>
        error("A handover says where sources begin: give --offsets.")
      case _ => ()
    }
    if (request.kind != MoveKind.Upsert && (frame.isDefined || request.rows.isDefined)) {
      error("Rows are for an upsert.")
    }
    if (provider == Provider.Hdfs) checkHdfs()
    if (provider == Provider.RocksDb && !EmptyStores.AreServed) {
      error("Spark's RocksDB provider begins with any version since Spark 4.2: export with that.")
    }
    request.offsets.foreach {
      case StartAt.Lines(lines) if lines.size != source.offset.offsets.size =>
        error(
          s"The query has ${source.offset.offsets.size} sources, and ${lines.size} offsets were given."
        )
      case StartAt.Lines(lines) =>
        val names = source.offset.namesIn(source.offset.offsets)
        val asked = source.offset.namesIn(lines)
        if (names.sorted != asked.sorted) {
          error(
            s"The query's offset log has each source's name in front of its offset (${names.mkString(", ")}), and the offsets " +
              s"that were given begin with ${asked.mkString(", ")}: Spark would pass over them. Give lines as <name>:<offset>."
          )
        }
      case _ => ()
    }
    if (source.folder.exists(Marker.Rewind) || Marker.stateOf(source.folder) == MarkedAs.GivenUp) {
      error("A move or a rewind of the checkpoint was begun and not finished: finish that first.")
    }
    if (request.inPlace) checkInPlace()
    else {
      checkPlanned()
      checkEarlier()
      checkTarget()
    }
    tell()
  }

  /** A query has at most one batch that it has not ended: the one after the last. */
  private def checkPlanned(): Unit = if (request.offsets.isEmpty && source.isNewest) {
    source.planned.filter(_ != source.batch + 1).headOption.foreach { next =>
      error(
        s"Batch $next was planned, and batch ${next - 1} is not committed: the logs are not as Spark leaves them. " +
          "bucketstate verify says more."
      )
    }
    source.abandoned.foreach { begun =>
      info(
        s"Batch ${begun.batch} was begun with another number of partitions and not finished, by a rewrite in place or by " +
          "Spark's repartition: it is left behind, as it is no batch of the query's."
      )
    }
  }

  /** Before the last batch that was planned Spark looks for another one in the offset log. */
  private def checkEarlier(): Unit = {
    val goesOn = request.offsets.isEmpty && source.isNewest && source.planned.nonEmpty
    val before = source.batch - 1
    if (source.batch > 0 && !goesOn && !logs.offsets.contains(before)) {
      val remedy =
        if (source.isNewest) "start the query, and stop it when it has finished another batch"
        else s"take batch ${source.batch + 1} or a later one"
      error(
        s"Batch $before is in the offset log no more, and Spark starts on batch ${source.batch} only where it is: $remedy."
      )
    }
  }

  private def checkInPlace(): Unit = {
    if (RunningQuery.isIn(spark, source.folder)) {
      error("The query runs in this application: stop it first.")
    }
    val left = InPlaceMark.of(source.folder).map(mark => mark.batch -> mark.stateIn(logs))
    left.foreach {
      case (batch, InPlaceState.Planned) =>
        info(
          s"A rewrite in place, as batch $batch, was begun and not finished: it is undone first."
        )
      case (batch, InPlaceState.Unplanned) =>
        info(s"A rewrite in place, as batch $batch, was barely begun: it is undone first.")
      case (batch, _) =>
        info(s"The mark of a rewrite in place, as batch $batch, is left, and is removed first.")
    }
    if (!EmptyStores.AreServed) {
      error(
        "Before Spark 4.2 a query would start on a rewrite in place that is not finished, and answer wrongly: give a " +
          "folder to rewrite into, or use Spark 4.2 or newer."
      )
    }
    if (source.offset.partitions.isEmpty) {
      error(
        "Spark has not recorded how many partitions the query has: give a folder to rewrite into."
      )
    } else if (partitions == source.partitions) {
      error(
        s"The state is in $partitions partitions already, and only another number shows Spark that the batch is no " +
          "batch of the query's: give another number, or a folder to rewrite into."
      )
    }
    source.planned.filterNot(left.map(_._1).contains).headOption.foreach { next =>
      error(
        s"Batch $next was planned and is not committed: start the query, so that it ends it, and stop it again; or give " +
          "a folder to rewrite into."
      )
    }
    source.abandoned.map(_.batch).filterNot(left.map(_._1).contains).foreach { begun =>
      error(
        s"Batch $begun was begun with another number of partitions and not finished, by Spark's repartition: " +
          "bucketstate doctor says what to do; or give a folder to rewrite into."
      )
    }
    if (left.isEmpty) laterFile.foreach { name =>
      error(
        s"$name is of a later batch than ${source.batch}, which is the last one: give a folder to rewrite into."
      )
    }
  }

  /**
   * A file of the state that no batch of the query's can have left. Where storage refuses to replace a file, an attempt
   * that makes the last version again has first created an empty changelog behind it, and the next such one another.
   */
  private def laterFile: Option[String] = {
    val later = source.files.keys.toSeq.sorted
      .filter(_.startsWith("state/"))
      .flatMap(name => CheckpointFiles.parse(CheckpointFiles.leaf(name)).map(name -> _))
      .collect { case (name, file: VersionedFile) if file.version > source.version => name -> file }
    val (changelogs, others) = later.partitionMap {
      case (name, ChangelogName(attempt)) if attempt.checkpointId.isEmpty => Left(name -> attempt)
      case (name, _)                                                      => Right(name)
    }
    def changing = SideBySide.each(changelogs) { case (name, attempt) =>
      Option.when(!isEmpty(name, attempt))(name)
    }
    others.headOption.orElse(changing.flatten.headOption)
  }

  private def isEmpty(name: String, attempt: Attempt): Boolean = {
    val store = new Path(source.folder.path, name).getParent
    Using.resource(FileStores.forFolder(store, conf, objectStores)) { files =>
      try {
        val opened = ChangelogReader.open(files, attempt, source.files.get(name))
        Using.resource(opened)(_.blocks.isEmpty)
      } catch { case _: CorruptException => false }
    }
  }

  private def checkHdfs(): Unit = {
    if (request.format.contains(2)) {
      error("HDFSBackedStateStoreProvider has no checkpoint ids: leave out --format 2.")
    }
    source.operators.filter(_.stores.exists(_.useColumnFamilies)).foreach { op =>
      error(
        s"Operator ${op.id} (${op.name}) keeps column families, which HDFSBackedStateStoreProvider does not have: " +
          "export to rocksdb."
      )
    }
  }

  /**
   * What the newest form of a query does not declare stays in its state all the same, and an older form finds it there.
   * Whether its keys are those of a map is not known any more, so that it cannot be moved: the source keeps it, where the
   * state is not rewritten in place.
   *
   * @param keys of such families, by their names
   */
  private def checkUndeclared(keys: Map[OwnHeads.Named, Map[String, Long]]): Unit = for {
    operator <- source.operators
    store <- operator.stores
    found <- keys.get((store.operator, store.name))
  } {
    val (sparks, variables) = found.filter(_._2 > 0).toSeq.sorted.partition(_._1.startsWith("$"))
    def named(all: Seq[(String, Long)]) =
      all.map { case (name, count) => s"'$name' ($count keys)" }.mkString(", ")
    val subject = s"Operator ${operator.id} (${operator.name}) still keeps"
    def undeclared = s"$subject ${named(variables)}, which the query declares no more"
    if (variables.nonEmpty && request.inPlace)
      error(
        s"$undeclared: it would be lost. Declare it again, so that it moves with the rest, or call deleteIfExists for it in the " +
          "processor's init, and run the query for a batch; or move into another folder, which leaves it in this one."
      )
    else if (variables.nonEmpty)
      warn(
        s"$undeclared: it is left behind, and an older form of the query does not find it in the target."
      )
    // Nobody can delete what Spark keeps beside a variable that was deleted itself.
    if (sparks.nonEmpty)
      warn(
        s"$subject ${named(sparks)}, timers or times of expiry of what the query declares no more: they are left behind."
      )
  }

  private def checkTarget(): Unit = {
    val target = new QueryFolder(new Path(request.target), conf, objectStores)
    try {
      val within = s"${target.path}/".startsWith(s"${source.folder.path}/") ||
        s"${source.folder.path}/".startsWith(s"${target.path}/")
      if (within) error("The target must lie apart from the source.")
      else
        Marker.stateOf(target) match {
          case MarkedAs.GivenUp =>
            info("A move into the target was begun and not finished: it is emptied first.")
          case MarkedAs.AllButMarked =>
            warn("The target has all of a move that was made before, but for the end of its mark.")
          case _ if !target.isEmpty => error(s"${target.location} is not empty.")
          case _                    => ()
        }
    } finally target.close()
  }

  private def tell(): Unit = {
    source.planned.headOption.filterNot(_ => request.inPlace).foreach { next =>
      if (request.offsets.isEmpty && source.isNewest)
        info(s"Batch $next was planned and is not committed: it runs again, over the target.")
    }
    source.otherClass.foreach { name =>
      warn(
        s"The query was run with the state store provider $name, and --source-provider says that its files are those of " +
          s"${source.provider.name}: nothing else does. Hold what the moved query answers against the old one's."
      )
    }
    if (!source.isNewest) info(s"Batches after ${source.batch} are left behind.")
    val age = clock.millis() - source.offset.plannedMs
    if (source.isNewest && age >= 0 && age < RecentMs) {
      warn(
        s"The query planned its last batch ${age / 1000} s ago: stop it first. A source that changes is refused."
      )
    }
    if (request.inPlace) {
      info(
        s"Batch ${source.batch + 1} is the rewrite's, and no sink sees it. Spark's file sink (parquet, json and others) " +
          "needs every batch in its log: rewrite the checkpoint of such a query into a folder instead."
      )
    }
    if (!source.isStrict && partitions != source.partitions) {
      warn(
        "The query was begun before Spark 3.3, and may lie by some of its columns alone: all keys are read once more first, to " +
          "find that out."
      )
    }
    if (isOwn(source.provider) && !isOwn(provider)) {
      info("Times of ageing (timeBucket) are left behind: the other provider has none.")
    }
    request.offsets.foreach { at =>
      info(
        "Sources begin anew: what they still have of what the state is made of is counted twice."
      )
      val begins = at match {
        case StartAt.Options      => source.offset.withoutOffsets.offsets
        case StartAt.Lines(lines) => lines
      }
      if (begins.exists(source.offset.isWithout)) {
        warn(
          "Sources begin where their own options say. Without startingOffsets a stream of Kafka begins with the latest offsets, and " +
            "what came between the end of the history and the start of the query is skipped: set startingOffsets to where the " +
            "history ends."
        )
      }
    }
  }

  /** What the offset log does not tell a query that is started on the target. */
  private def sessionNeeds: Seq[(String, String)] = {
    val transforms =
      isOwn(provider) && source.operators.exists(op => PlaceRules.TransformWithState(op.name))
    Seq(
      Some(Provider.Setting -> provider.className),
      Option.when(hasIds)(FileStores.FormatSetting -> "2"),
      // Spark leaves keys where the operator before has put them only if that has as many partitions.
      Option.when(!source.isStrict)(OffsetEntry.Partitions -> partitions.toString),
      Option.when(transforms)("spark.sql.extensions" -> "io.bucketstate.BucketstateExtensions")
    ).flatten
  }

  private def workOf(
      operator: SourceOperator,
      store: SourceStore,
      condition: Option[(Long, Expression)],
      rows: Option[(Long, RowShape)],
      heads: Map[OwnHeads.Named, StoreHead]
  ): StoreWork = {
    val had = if (operator.isGlobal) 1 else source.partitions
    val targets = if (operator.isGlobal) 1 else partitions
    val head = heads.get((store.operator, store.name))
    val shape = rows.collect { case (id, found) if id == operator.id => found }
    for (found <- shape if head.exists(_.times(found.family).isDefined))
      error(
        s"The keys of operator ${operator.id} age (timeBucket), and rows do not say since when: they cannot be given."
      )
    StoreWork(
      store,
      source.folder.location,
      if (request.inPlace) source.folder.location else qualified(request.target),
      source.provider,
      provider,
      0 until had,
      had,
      targets,
      source.version,
      if (request.inPlace) source.version + 1 else source.version,
      request.buckets.orElse(head.map(_.numBuckets)).getOrElse(settingOfBuckets),
      familiesOf(store, head),
      hasIds,
      source.storeConf,
      targetConf,
      condition.collect { case (id, expression) if id == operator.id => expression },
      staysPut = !source.isStrict && targets == had && shape.isEmpty,
      head,
      shape
    )
  }

  private def qualified(path: String): String =
    new Path(path).getFileSystem(conf).makeQualified(new Path(path)).toString

  /** The number of buckets of a store that is new. */
  private def settingOfBuckets: Int =
    SparkSettings
      .read(new StateStoreConf(SparkSessions.settings(spark)))
      .numBuckets
      .getOrElse(ConfigKey.NumBuckets.default.toInt)

  private def targetConf: StateStoreConf = {
    val all = source.settings.clone()
    all.setConfString(Provider.Setting, provider.className)
    all.setConfString(FileStores.FormatSetting, if (hasIds) "2" else "1")
    all.setConfString("spark.sql.streaming.stateStore.coordinatorReportSnapshotUploadLag", "false")
    // A snapshot, which is what one version is.
    all.setConfString(SourceQuery.ChangelogSetting, "false")
    new StateStoreConf(all)
  }

  private def familiesOf(store: SourceStore, head: Option[StoreHead]): Seq[TargetFamily] = {
    val evolves = store.schemaFiles.nonEmpty &&
      source.settings.getConf(SQLConf.STREAMING_STATE_STORE_ENCODING_FORMAT) == "avro"
    val schemas =
      if (evolves) store.schemas(source.folder.path, conf) else None
    store.numbered.zipWithIndex.map { case (family, number) =>
      val fresh = store.described(family, schemas).descriptor(number)
      val times = head.flatMap(_.times(family.name))
      val descriptor = head.flatMap(_.family(family.name)).fold(fresh)(_.copy(id = number))
      TargetFamily(
        if (times.isDefined) FamilyEncodings.timed(descriptor) else descriptor,
        family.keySchema.json,
        family.valueSchema.json,
        times
      )
    }
  }

  /** The condition, bound to the columns of the grouping key; and whose key that is. */
  private def deleting(condition: String): (Long, Expression) = {
    val operator = chosen(source.operators.filterNot(_.isGlobal))
    (operator.id, Conditions.bound(spark, condition, operator))
  }

  private def rowsGiven: Option[DataFrame] = frame.orElse(request.rows.map { path =>
    try spark.read.parquet(path)
    catch {
      case e: AnalysisException => throw unreadable(path, e.getMessage)
      // A job reads which columns there are, and fails with what is no Parquet file.
      case e: SparkException => throw unreadable(path, JobFailure.innermost(e).toString)
    }
  })

  private def unreadable(path: String, said: String): InvalidException = {
    val line = said.linesIterator.next().stripSuffix(".")
    new InvalidException(
      s"$path cannot be read as Parquet files: $line",
      "Give a file or a folder with a row for each key."
    )
  }

  private def shaped(rows: DataFrame): (Long, RowShape) = {
    val operator = chosen(source.operators)
    if (source.offset.recordsNoNulls) tellOfNulls(operator)
    (operator.id, FrameColumns.of(rows.schema, operator))
  }

  private def tellOfNulls(operator: SourceOperator): Unit = {
    val values = UpsertRules.familyOf(operator).valueSchema
    val columns = if (PlaceRules.TransformWithState(operator.name)) "the key" else "this state"
    val refused = UpsertRules.number(operator.name, values).fold("nowhere")(n => s"in '$n' alone")
    warn(
      s"The query began with Spark 4.3 or newer, which does not record what columns of $columns take no null: there a null in " +
        s"the rows is refused $refused."
    )
  }

  /** Whose keys are asked about. */
  private def chosen(candidates: Seq[SourceOperator]): SourceOperator = request.operator match {
    case Some(id) =>
      source.operators.find(_.id == id).getOrElse {
        throw new InvalidException(
          s"The query has no operator $id",
          s"It has ${source.operators.map(o => s"${o.id} (${o.name})").mkString(", ")}."
        )
      }
    case None if candidates.size == 1 => candidates.head
    case None                         =>
      throw new InvalidException(
        "It is not said of which operator the keys are",
        s"Give --operator: ${candidates.map(o => s"${o.id} (${o.name})").mkString(", ")}."
      )
  }

  private def error(text: String): Unit = findings += Finding(Severity.Error, text)
  private def warn(text: String): Unit = findings += Finding(Severity.Warning, text)
  private def info(text: String): Unit = findings += Finding(Severity.Info, text)
}

private[move] object Planner {

  private final val RecentMs = 60000L
  private val Order = Seq(Severity.Error, Severity.Warning, Severity.Info)

  private def operatorOf(name: String): Option[Long] =
    Option.when(name.startsWith("state/"))(name.split('/')(1)).flatMap(QueryFolder.number)
}
