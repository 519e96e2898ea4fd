package io.bucketstate.move

import java.time.Clock

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
      val logs = new QueryLogs(folder)
      val marked = InPlaceMark.of(folder).map(mark => mark.batch -> mark.stateIn(logs))
      marked match {
        case Some((batch, InPlaceState.Unplanned)) =>
          val source = before(folder, batch)
          if (new InPlace(source, source.partitions).takeBackUnplanned()) undone(source)
          else whole(folder, logs)
        case Some((batch, InPlaceState.Planned)) =>
          val source = before(folder, batch)
          new InPlace(source, source.partitions).takeBack()
          undone(source)
        case _ => whole(folder, logs)
      }
    } finally folder.close()
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
    logs.offset(batch).partitions.foreach { partitions =>
      InPlaceMark(batch, partitions).write(folder, clock.millis())
    }
    new InPlace(source, source.partitions).takeBack()
    undone(source)
  }

  /** The batch of a rewrite that is the last thing that happened to the checkpoint. */
  private def committed(folder: QueryFolder, logs: QueryLogs): Long = {
    val planned = logs.offsets
    planned.filter(InPlaceMark.isRewrite(logs, _)).lastOption match {
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
  def ofLeft(spark: SparkSession, plan: PlannedMove): Boolean = plan.request.inPlace && {
    val folder = plan.source.folder
    val logs = new QueryLogs(folder)
    InPlaceMark.of(folder) match {
      case None       => false
      case Some(mark) =>
        mark.stateIn(logs) match {
          case InPlaceState.Unplanned =>
            // Whether the query has gone on meanwhile is asked again by what follows.
            val _ = inPlaceOf(spark, folder, mark).takeBackUnplanned()
          case InPlaceState.Planned => inPlaceOf(spark, folder, mark).takeBack()
          case InPlaceState.Committed | InPlaceState.Stale => folder.delete(InPlaceMark.File)
        }
        true
    }
  }

  private def inPlaceOf(spark: SparkSession, folder: QueryFolder, mark: InPlaceMark) =
    new InPlace(new SourceQuery(spark, folder, mark.batch - 1, None), mark.partitions)
}
