package io.bucketstate.move

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.connector.catalog.Table
import org.apache.spark.sql.execution.streaming.state.{SparkSessions, StateStoreConf}
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

import io.bucketstate.config.ConfigKey
import io.bucketstate.error.InvalidException
import io.bucketstate.move.log.{QueryFolder, QueryLogs}
import io.bucketstate.move.read.{OwnRecords, SourceQuery}
import io.bucketstate.spark.BuiltForSpark

/**
 * Rewrites the checkpoint of a query in place, before the query starts, where the session asks for it and has another number
 * of partitions than the checkpoint.
 *
 * It is shown every plan. That which writes to a stream comes in the thread that starts the query, with the folder of the
 * checkpoint, and before anything of that is read. What fails here fails the start, and the checkpoint is as it was. All
 * other plans pass. Thread-safe.
 *
 * @param provider class name of the provider, as in the setting
 */
private[bucketstate] final class RewriteOnStart(session: SparkSession, provider: String)
    extends (LogicalPlan => Unit) {
  import RewriteOnStart._

  override def apply(plan: LogicalPlan): Unit = plan match {
    case write: WriteToStream if isSet =>
      // What is asked next is private to Spark, and another minor version may not have it.
      BuiltForSpark.require(SPARK_VERSION)
      val settings = SparkSessions.settings(session)
      if (OwnRecords.configOf(new StateStoreConf(settings)).partitionsOfSession) {
        val wanted = settings.getConf(SQLConf.SHUFFLE_PARTITIONS)
        StartedQuery.inFolder(session, write)(inPartitions(_, wanted, write.sink))
      }
    case _ => ()
  }

  /** Without the setting nothing else is looked at: what else may be wrong is reported where it always is. */
  private def isSet: Boolean =
    StartedQuery.isOf(session, provider) &&
      session.conf.getOption(ConfigKey.Partitions.key).nonEmpty

  private def inPartitions(folder: QueryFolder, wanted: Int, sink: Table): Unit = {
    val logs = new QueryLogs(folder)
    val mark = InPlaceMark.of(folder).map(mark => mark.batch -> mark.stateIn(logs))
    // That of a rewrite that was not finished is no batch of the query's.
    val left = mark.collect { case (batch, InPlaceState.Planned) => batch }
    val planned = logs.offsets.filterNot(left.contains)
    for {
      last <- logs.commits.lastOption.filter(planned.contains).map(logs.offset)
      if StartedQuery.isOwn(last) && logs.operators.nonEmpty
    } {
      // Spark goes by the last entry, of a batch that may not be committed.
      val partitions = last.partitions
        .orElse(logs.offset(planned.last).partitions)
        .getOrElse(requireRecorded(folder, last.batch, wanted))
      if (partitions != wanted) {
        reasonToStay(folder, partitions, planned.filter(_ > last.batch)) match {
          case Some(reason) =>
            log.warn(
              s"${folder.location} stays in $partitions partitions, $wanted were asked for: $reason"
            )
          case None =>
            requireEveryBatch(folder, sink)
            rewrite(folder, partitions, wanted)
        }
      } else if (left.nonEmpty) {
        log.info(s"A rewrite of ${folder.location} in place was not finished, and is undone")
        Plans.undo(session, folder.location)
      }
    }
  }

  /**
   * The number of partitions that the operators have, of a batch that does not tell it: Spark would start with the
   * session's, and look for keys where they are not. Throws where that is another one.
   */
  private def requireRecorded(folder: QueryFolder, batch: Long, wanted: Int): Int = {
    val there = new SourceQuery(session, folder, batch, None).partitions
    if (there != wanted) {
      throw new InvalidException(
        s"${folder.location} was not rewritten in place, as ${ConfigKey.Partitions.key}=session says: Spark has not " +
          s"recorded how many partitions the query has; its state is in $there, not $wanted",
        s"Start it once with ${SQLConf.SHUFFLE_PARTITIONS.key}=$there, which records it. A later start rewrites it."
      )
    }
    there
  }

  private def reasonToStay(folder: QueryFolder, partitions: Int, begun: Seq[Long]): Option[String] =
    if (RunningQuery.isIn(session, folder)) Some("its query runs")
    else
      begun.lastOption.map { batch =>
        s"batch $batch was planned for $partitions and is not committed, and the query ends it first; the next start rewrites"
      }

  /** The rewrite is a batch that no sink hears of. */
  private def requireEveryBatch(folder: QueryFolder, sink: Table): Unit =
    // By its name, because its package is another one on some minor versions.
    if (sink.getClass.getSimpleName == "FileStreamSink") {
      throw new InvalidException(
        s"${folder.location} was not rewritten in place, as ${ConfigKey.Partitions.key}=session says: the query writes " +
          "files, and whoever reads them needs the log of every batch",
        "Rewrite it into another folder with bucketstate move rewrite, or leave the setting out."
      )
    }

  private def rewrite(folder: QueryFolder, partitions: Int, wanted: Int): Unit = {
    log.info(
      s"${folder.location} is being rewritten in place, from $partitions partitions to $wanted"
    )
    val request = MoveRequest(
      MoveKind.Rewrite,
      folder.location,
      "",
      partitions = Some(wanted),
      inPlace = true
    )
    val report = Plans.of(session, request).run()
    log.info(
      s"${folder.location} was rewritten in place as batch ${report.plan.lastBatch}, from $partitions partitions to $wanted: " +
        s"${report.keys} keys in ${report.finishedMs - report.startedMs} ms. " +
        "bucketstate move rewrite --in-place --undo takes it back while the query has not gone on"
    )
  }
}

private object RewriteOnStart {
  private val log = LoggerFactory.getLogger(classOf[RewriteOnStart])
}
