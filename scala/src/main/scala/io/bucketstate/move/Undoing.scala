package io.bucketstate.move

import java.time.Clock

import scala.util.control.NonFatal

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.SparkSessions

import io.bucketstate.checkpoint.io.FileStores
import io.bucketstate.checkpoint.retention.Savepoints
import io.bucketstate.error.InvalidException
import io.bucketstate.move.job.OwnHeads
import io.bucketstate.move.log.{LogText, QueryFolder, QueryLogs}
import io.bucketstate.move.read.{Provider, SourceQuery}

/**
 * What undoing a rewrite in place has left. Immutable.
 *
 * @param checkpoint where it is
 * @param batch      the last batch
 * @param partitions of operators with keys
 */
final case class Undone(checkpoint: String, batch: Long, partitions: Int) {

  /** As JSON, for tools. */
  def json: String = LogText.Json
    .createObjectNode()
    .put("checkpoint", checkpoint)
    .put("batch", batch)
    .put("partitions", partitions)
    .toString

  /** For people. */
  override def toString: String =
    s"$checkpoint: the rewrite was undone, batch $batch is the last one, in $partitions partitions"
}

/** Takes a rewrite in place back, as long as no query has gone on with it. */
private[move] final class Undoing(spark: SparkSession, checkpoint: String, clock: Clock) {
  private[this] val conf = SparkSessions.hadoopConf(spark)

  def undo(): Undone = {
    val folder = new QueryFolder(new Path(checkpoint), conf, Publishing.objectStores(spark))
    try {
      RunningQuery.requireNone(spark, folder)
      val left = InPlaceMark.of(folder).filter(Undoing.isOpen(_, folder))
      left.flatMap(ofLeft(folder, _)).getOrElse(whole(folder, new QueryLogs(folder)))
    } finally folder.close()
  }

  /** None where the query has gone on meanwhile, or the batch was committed. */
  private def ofLeft(folder: QueryFolder, mark: InPlaceMark): Option[Undone] = {
    val source = before(folder, mark.batch)
    Option.when(Undoing.takenBack(new InPlace(source, mark.partitions), mark, folder, clock))(
      undone(source)
    )
  }

  /** The query at the batch before that of the rewrite. */
  private def before(folder: QueryFolder, batch: Long): SourceQuery = {
    val source = new SourceQuery(spark, folder, batch - 1, None)
    requireOwn(source)
    source
  }

  private def undone(source: SourceQuery) =
    Undone(source.folder.location, source.batch, source.partitions)

  private def whole(folder: QueryFolder, logs: QueryLogs): Undone = {
    val batch = committed(folder, logs)
    val source = before(folder, batch)
    // What a query is to go on with has to be there before anything is deleted.
    requireUnheld(folder, batch)
    OwnHeads.of(spark, source, conf)
    val rewrite = new InPlace(source, logs.offset(batch).partitions.getOrElse(source.partitions))
    val commit = folder.read(s"commits/$batch")
    rewrite.begin(clock.millis())
    rewrite.takeBackCommit()
    // From here on no query starts, and no savepoint of the batch is created. What was there before is seen now.
    try {
      rewrite.requireLast()
      requireUnheld(folder, batch)
    } catch {
      case NonFatal(e) =>
        folder.write(s"commits/$batch", commit)
        rewrite.end()
        throw e
    }
    rewrite.takeBack()
    undone(source)
  }

  /** The batch of a rewrite that is the last thing that happened to the checkpoint. */
  private def committed(folder: QueryFolder, logs: QueryLogs): Long = {
    val planned = logs.offsets
    planned.filter(logs.changesPartitions).lastOption match {
      case Some(batch) if planned.last == batch && logs.commits.lastOption.contains(batch) => batch
      case Some(batch) if planned.last > batch                                             =>
        throw new InvalidException(
          s"The query of ${folder.location} has gone on since batch $batch, which changed its partitions",
          s"bucketstate rewind --batch ${batch - 1} takes the batches since back, too; or rewrite it once more."
        )
      case Some(batch) =>
        throw new InvalidException(
          s"Batch $batch of ${folder.location} has another number of partitions and is not committed, and is none of " +
            "bucketstate's rewrites in place",
          "bucketstate doctor says what to do."
        )
      case None =>
        throw new InvalidException(
          s"${folder.location} was not rewritten in place, as far as Spark's logs go back",
          "There is nothing to undo."
        )
    }
  }

  private def requireUnheld(folder: QueryFolder, batch: Long): Unit = {
    val place = new Path(folder.path, Savepoints.Folder)
    val all = new Savepoints(() => clock.millis()).asOf(clock.millis()) {
      FileStores.forFolder(place, conf, Publishing.objectStores(spark))
    }
    val held = all.filter(_.batch >= batch).map(s => s"'${s.name}'").toSeq.sorted
    if (held.nonEmpty) {
      throw new InvalidException(
        s"${folder.location} has savepoints of batch $batch, which would be lost: ${held.mkString(", ")}",
        "Drop them first."
      )
    }
  }

  private def requireOwn(source: SourceQuery): Unit = if (source.provider != Provider.Ours) {
    throw new InvalidException(
      s"${source.folder.location} is a checkpoint of ${source.provider.className}",
      "Only what bucketstate has rewritten can be undone."
    )
  }
}

private[move] object Undoing {

  /** Whether something was left in the checkpoint of a rewrite that was not finished, which is gone now. */
  def ofLeft(spark: SparkSession, plan: PlannedMove, clock: Clock): Boolean =
    plan.request.inPlace && {
      val folder = plan.source.folder
      val left = InPlaceMark.of(folder)
      left.foreach { mark =>
        if (isOpen(mark, folder)) {
          val source = new SourceQuery(spark, folder, mark.batch - 1, None)
          // Whether the query has gone on meanwhile is asked again by what follows.
          val _ = takenBack(new InPlace(source, mark.partitions), mark, folder, clock)
        } else folder.delete(InPlaceMark.File)
      }
      left.isDefined
    }

  private def isOpen(mark: InPlaceMark, folder: QueryFolder): Boolean =
    Set[InPlaceState](InPlaceState.Unplanned, InPlaceState.Planned)(stateOf(mark, folder))

  private def stateOf(mark: InPlaceMark, folder: QueryFolder): InPlaceState =
    mark.stateIn(new QueryLogs(folder))

  /**
   * Takes back what there is of a rewrite that was not finished. Whoever began it may be at it still: the mark is taken over
   * first, and how far it has come is looked up behind that.
   *
   * @return false where there is nothing to take back any more
   */
  private def takenBack(
      rewrite: InPlace,
      mark: InPlaceMark,
      folder: QueryFolder,
      clock: Clock
  ): Boolean = {
    rewrite.begin(clock.millis())
    stateOf(mark, folder) match {
      case InPlaceState.Unplanned => rewrite.takeBackUnplanned()
      case InPlaceState.Planned   =>
        rewrite.takeBack()
        true
      case InPlaceState.Committed | InPlaceState.Stale =>
        rewrite.end()
        false
    }
  }
}
