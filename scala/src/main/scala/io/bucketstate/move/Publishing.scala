package io.bucketstate.move

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.{SparkSessions, StateStoreConf}

import io.bucketstate.error.ConflictException
import io.bucketstate.move.job.StoreMoved
import io.bucketstate.move.log.{OffsetEntry, QueryFolder, QueryLogs}
import io.bucketstate.move.read.{OwnRecords, Provider, SourceQuery}

/**
 * Writes what makes a folder of state a query's checkpoint. It can be killed anywhere: the first file is a `metadata` that no
 * Spark can read, so that none starts a query, and the last one is the query's own in its place.
 *
 * If there are two into one folder, the one that began last goes on: it writes its token into the marker, and then empties the folder.
 * The other one finds that token before it makes anything of what it has written, and stops. Where the other one writes the
 * query's own file meanwhile, both stop: each writes first, the one its token and the other one that file, and then reads what
 * the other one writes, so that at least one of them sees the other. A folder is not emptied once that file is there, and where
 * the token is another's by then the file is taken back.
 */
private[move] final class Publishing(plan: PlannedMove, target: QueryFolder) {
  private[this] val source = plan.source
  private[this] val from = source.folder
  private[this] val metadataOfQuery = from.read(Marker.OfQuery)
  private[this] val token = UUID.randomUUID().toString

  /** [[requireOwn]] for tasks. */
  val own: Configuration => Unit = new Publishing.Own(target.location, token)

  /**
   * Takes an empty folder, or one that a move has left that was given up. One that has all but the end of its marker is
   * completed and refused: a query may have run on it.
   */
  def begin(startedMs: Long): Unit = {
    val found = Marker.stateOf(target)
    found match {
      case MarkedAs.GivenUp      => block()
      case MarkedAs.AllButMarked =>
        Marker.complete(target, startedMs)
        throw new ConflictException(
          s"${target.location} has all of a move that was made before; only its mark was not finished, and is now",
          "Start the query on it, or give another folder. Nothing else was written."
        )
      case _ if target.isEmpty => block()
      case _                   => throw notEmpty
    }
    Marker.begin(target, plan, token, startedMs)
    // The one that had begun may have come to its end until its marker was replaced.
    requireOwn()
    if (found == MarkedAs.GivenUp) Publishing.Folders.foreach(target.deleteFolder)
  }

  /** Lets no query start. The query's own file is never replaced: a query may run on what is there. */
  private def block(): Unit =
    if (target.exists(Marker.OfQuery) && !Marker.isBlocked(target)) throw notEmpty
    else Marker.block(target)

  private def notEmpty = new ConflictException(
    s"${target.location} is not empty",
    "Give a folder that is empty or does not exist. Nothing was written."
  )

  /** Throws `ConflictException` where another move into the folder was begun since, or has come to its end. */
  def requireOwn(): Unit = Publishing.requireOwn(target, token)

  /** Completes the marker. A query may start before. */
  def finish(report: MoveReport): Unit = {
    if (!Marker.isOf(target, token)) throw Publishing.overtaken(target)
    Marker.finish(target, report, token)
  }

  /** All but the logs. */
  def metadata(): Unit = {
    requireOwn()
    source.operators.foreach { operator =>
      val id = operator.id
      target.copyFolder(from, s"state/$id/_stateSchema")
      operator.stores.filter(_.schemaFiles.isEmpty).foreach { store =>
        val folder = if (store.name == "default") "0" else s"0/${store.name}"
        val file = s"state/$id/$folder/_metadata/schema"
        if (from.exists(file)) target.write(file, from.read(file))
      }
      val partitions = if (operator.isGlobal) 1 else plan.partitions
      val moved = operator.entry.moved(partitions, pathOf(id, _))
      target.write(s"state/$id/_metadata/${fileOf(operator.entry.file)}", moved.text.bytes)
    }
    if (plan.request.offsets.isEmpty) target.copyFolder(from, "sources")
  }

  /** The last part of the operator's own name of its metadata: `metadata`, or `v2/` and a batch. */
  private def fileOf(file: String): String = file.split("/_metadata/").last

  /** Schema files are recorded by whole paths. */
  private def pathOf(operator: Long, recorded: String): String = {
    val at = recorded.lastIndexOf(s"/state/$operator/_stateSchema/")
    if (at < 0) recorded else target.location + recorded.substring(at)
  }

  def logs(moved: Seq[StoreMoved]): Unit = {
    requireOwn()
    val logs = new QueryLogs(from)
    val before = source.batch - 1
    val earlier = Option.when(logs.offsets.contains(before))(logs.offset(before))
    // What was planned over sources that begin anew is of other offsets.
    val planned = if (plan.request.offsets.isEmpty && source.isNewest) source.planned else Nil
    (earlier.toSeq ++ Seq(source.offset) ++ planned.map(logs.offset)).foreach { entry =>
      target.write(s"offsets/${entry.batch}", changed(entry).text.bytes)
    }
    if (logs.commits.contains(before)) {
      target.write(s"commits/$before", logs.commit(before).withIds(None).text.bytes)
    }
    val commit = source.commit.withIds(Option.when(plan.hasIds)(Publishing.idsOf(source, moved)))
    target.write(s"commits/${source.batch}", commit.text.bytes)
    requireOwn()
    target.write(Marker.OfQuery, metadataOfQuery)
    if (!Marker.isOf(target, token)) {
      // Whoever has begun since may empty the folder, and no query is to start on what is left.
      Marker.block(target)
      throw Publishing.overtaken(target)
    }
  }

  private def changed(entry: OffsetEntry): OffsetEntry = {
    val settings = entry.withSettings(
      Map(
        Provider.Setting -> plan.targetProvider.className,
        OffsetEntry.Partitions -> plan.partitions.toString
      )
    )
    plan.request.offsets match {
      case None                        => settings
      case Some(StartAt.Options)       => settings.withoutOffsets
      case Some(StartAt.Lines(begins)) => settings.withOffsets(begins)
    }
  }
}

private[move] object Publishing {

  /** What a move writes, besides the marker and the query's metadata. */
  private val Folders = Seq("commits", "offsets", "sources", "state")

  /** Asks on an executor whether a folder is still that of the move with a token. */
  private final class Own(root: String, token: String)
      extends (Configuration => Unit)
      with Serializable {
    override def apply(conf: Configuration): Unit = {
      // Nothing is written.
      val folder = new QueryFolder(new Path(root), conf, Set.empty)
      try requireOwn(folder, token)
      finally folder.close()
    }
  }

  private def requireOwn(target: QueryFolder, token: String): Unit =
    if (!Marker.isOf(target, token) || !Marker.isBlocked(target)) throw overtaken(target)

  private def overtaken(target: QueryFolder) = new ConflictException(
    s"Another move into ${target.location} was begun since",
    "Let that one come to its end, or give another folder. This one has published nothing."
  )

  /** Checkpoint ids by operator, partition, and store in the order in which Spark names them. */
  def idsOf(source: SourceQuery, moved: Seq[StoreMoved]): Map[Long, Seq[Seq[String]]] =
    moved.groupBy(_.work.store.operator).map { case (operator, stores) =>
      val inOrder = source.operators.find(_.id == operator).get.stores.map(_.name)
      val sorted = stores.sortBy(s => inOrder.indexOf(s.work.store.name)).map(_.ids.get)
      operator -> sorted.transpose
    }

  def objectStores(session: SparkSession): Set[String] =
    OwnRecords.configOf(new StateStoreConf(SparkSessions.settings(session))).objectStores
}
