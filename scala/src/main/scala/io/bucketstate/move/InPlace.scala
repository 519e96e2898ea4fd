package io.bucketstate.move

import java.util.UUID

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.bucketstate.checkpoint.io.{CheckpointFiles, ManifestName, RunName}
import io.bucketstate.error.ConflictException
import io.bucketstate.move.job.SideBySide
import io.bucketstate.move.log.{OffsetEntry, QueryFolder, QueryLogs}
import io.bucketstate.move.read.{SourceOperator, SourceQuery}

/**
 * A rewrite of a checkpoint in place, step by step. It is a batch of its own, which reads nothing from the sources, and whose
 * version of the state lies in another number of partitions. Nothing that is there is changed but the first form of the
 * operators' metadata, which has one file for all batches.
 *
 * The order is what makes it safe to be killed at. Before the batch is planned there are data files that nothing names. From
 * then on Spark refuses to start a query, because the batch has another number of partitions than the one before, until it
 * is committed, which is last; and undoing it goes the same way back.
 *
 * If there are two at once, the one that wrote the mark last goes on. Each writes first, and then looks at what the other one writes:
 * whoever takes over writes the mark and then reads the logs, and whoever was there writes to the logs and then reads the
 * mark. So at least one of them sees the other. The one that has lost the mark takes nothing back but its own entry of the log.
 *
 * @param source at its last batch, and with no later one but that of the rewrite
 */
private[move] final class InPlace(source: SourceQuery, partitions: Int) {
  private[this] val folder = source.folder
  private[this] val logs = new QueryLogs(folder)
  private[this] val token = UUID.randomUUID().toString

  val batch: Long = source.batch + 1

  /** The version that the batch makes. */
  private val version = batch + 1

  /** Takes the checkpoint over from whoever has begun the same. */
  def begin(startedMs: Long): Unit = InPlaceMark(batch, partitions, token).write(folder, startedMs)

  private def mark: Option[InPlaceMark] = InPlaceMark.of(folder)

  private def isMarked: Boolean = mark.exists(_.token == token)

  /**
   * From here on no query starts. Throws `ConflictException`, and leaves no plan, if anybody else has written to the logs: the
   * name of the batch is free as well where the query is long past it and Spark has deleted its own.
   */
  def plan(): Unit = {
    writeOwn(s"offsets/$batch", planned.text.bytes)
    try requireAlone()
    catch {
      case e: ConflictException =>
        // Where the batch is committed the plan is of whoever has committed it.
        if (!logs.commits.contains(batch)) folder.delete(s"offsets/$batch")
        throw e
    }
  }

  /** An answer may have got lost: then what is there is its own, as long as the mark is. */
  private def writeOwn(name: String, bytes: Array[Byte]): Unit =
    try folder.writeNew(name, bytes)
    catch {
      case e: ConflictException =>
        if (!holds(name, bytes) || !isMarked) throw e
    }

  private def holds(name: String, bytes: Array[Byte]): Boolean =
    folder.exists(name) && folder.read(name).sameElements(bytes)

  private def planned: OffsetEntry =
    source.offset
      .copy(batch = batch)
      .withSettings(Map(OffsetEntry.Partitions -> partitions.toString))

  /** Whether the batch in the offset log is the very one that this would plan. */
  def isPlanned: Boolean = holds(s"offsets/$batch", planned.text.bytes)

  /** What is said of operators without keys stays: Spark records the number of the query's start, and they have one. */
  def metadata(): Unit = source.operators.foreach { operator =>
    if (!operator.isGlobal) {
      val moved = operator.entry.moved(partitions, identity)
      folder.write(metadataOf(operator), moved.text.bytes)
    } else if (isVersioned(operator)) folder.write(metadataOf(operator), operator.entry.text.bytes)
  }

  /** The file of an operator: the second form has one for each batch. */
  private def metadataOf(operator: SourceOperator): String = {
    val inside = s"state/${operator.id}/_metadata"
    if (isVersioned(operator)) s"$inside/v2/$batch" else s"$inside/metadata"
  }

  private def isVersioned(operator: SourceOperator): Boolean =
    operator.entry.file.contains("/_metadata/v2/")

  /** Throws `ConflictException` if anybody else has written to the logs, or has taken the checkpoint over. */
  def requireAlone(): Unit = {
    if (logs.offsets.lastOption != Some(batch) || logs.commits.lastOption != Some(source.batch)) {
      throw new ConflictException(
        s"The logs of ${folder.location} have changed since the rewrite began",
        "A query, or another move, runs on it: stop it, and run the same command again. The rewrite is not committed."
      )
    }
    if (!isMarked) throw overtaken("The rewrite is not committed.")
  }

  private def overtaken(rest: String) = new ConflictException(
    s"Another rewrite of ${folder.location} in place, or its undoing, was begun since",
    s"Let that one come to its end. $rest"
  )

  /**
   * What ends the rewrite.
   *
   * @param ids of the stores of the new version, where there are checkpoint ids
   */
  def commit(ids: Option[Map[Long, Seq[Seq[String]]]]): Unit =
    writeOwn(s"commits/$batch", source.commit.withIds(ids).text.bytes)

  /**
   * Removes the mark behind the commit. From there on a query may go on, so nothing that fails here takes anything back: the
   * mark of a batch that is committed says nothing. Throws `ConflictException` where another one was taking the rewrite back.
   */
  def committed(): Unit =
    try
      if (mark.exists(other => other.batch == batch && other.token != token)) {
        throw overtaken("It may take back what this one has committed.")
      } else end()
    catch {
      case e: ConflictException => throw e
      case NonFatal(e)          =>
        InPlace.log.warn(
          s"${folder.location} was rewritten in place; ${InPlaceMark.File} could not be removed, and does no harm",
          e
        )
    }

  /** Removes the mark, where it is its own. */
  def end(): Unit = if (isMarked) folder.delete(InPlaceMark.File)

  /**
   * Takes back what there is of one that was not planned: data files that nothing names. A query may have been started
   * since, and may plan its own batch at any time: what it writes then is in no listing of before.
   *
   * @return false when that batch is planned by now: nothing but the mark is gone
   */
  def takeBackUnplanned(): Boolean = {
    val left = SideBySide.each(stores)(store => filesOf(store).map(name => s"$store/$name"))
    val isAlone = !folder.exists(s"offsets/$batch")
    if (isAlone) {
      SideBySide.each(left)(_.foreach(folder.delete))
      removeNewFolders()
    }
    end()
    isAlone
  }

  /** What [[takeBack]] begins with: a query does not start on a batch of other partitions that is not committed. */
  def takeBackCommit(): Unit = folder.delete(s"commits/$batch")

  /**
   * Takes back whatever there is of one that was planned: the commit first, then the state and what is said of it, and last
   * the plan, until which no query starts. Does nothing where another one has taken over. Throws `ConflictException` where
   * there are later batches, whose state may be of files of the rewrite.
   */
  def takeBack(): Unit = if (isMarked) {
    requireLast()
    takeBackCommit()
    SideBySide.each(stores)(store => filesOf(store).foreach(name => folder.delete(s"$store/$name")))
    removeNewFolders()
    source.operators.foreach { operator =>
      if (isVersioned(operator)) folder.delete(metadataOf(operator))
      else if (!operator.isGlobal) {
        val before = operator.entry.moved(source.partitions, identity)
        val bytes = before.text.bytes
        if (!folder.read(metadataOf(operator)).sameElements(bytes)) {
          folder.write(metadataOf(operator), bytes)
        }
      }
    }
    // One that was overtaken may have come to its commit since.
    takeBackCommit()
    folder.delete(s"offsets/$batch")
    end()
  }

  /** Throws `ConflictException` if a later batch was planned. */
  def requireLast(): Unit = logs.offsets.filter(_ > batch).lastOption.foreach { later =>
    throw new ConflictException(
      s"Batch $later of ${folder.location} was planned, which is later than batch $batch, the rewrite",
      "Stop the query. bucketstate rewind takes later batches back."
    )
  }

  /** The folders of all stores that there are, whatever the number of partitions. */
  private def stores: Seq[String] = for {
    operator <- source.operators
    partition <- foldersOf(operator)
    store <- operator.stores
  } yield {
    val path = s"state/${operator.id}/$partition"
    if (store.name == "default") path else s"$path/${store.name}"
  }

  private def foldersOf(operator: SourceOperator): Seq[String] =
    folder.folders(s"state/${operator.id}").filter(QueryFolder.number(_).isDefined)

  private def removeNewFolders(): Unit = source.operators.foreach { operator =>
    foldersOf(operator).filter(_.toInt >= source.partitions).foreach(removeEmpty(operator, _))
  }

  private def removeEmpty(operator: SourceOperator, partition: String): Unit = {
    val inside = s"state/${operator.id}/$partition"
    if (folder.lengths(inside).isEmpty) folder.deleteFolder(inside)
  }

  /** Files of the version in a store. The manifest is the first: without it what it names is nothing. */
  private def filesOf(store: String): Seq[String] = {
    val inside = folder
      .names(s"$store/${CheckpointFiles.RunFolder}")
      .map(name => s"${CheckpointFiles.RunFolder}/$name")
    val (manifests, runs) = (folder.names(store) ++ inside)
      .flatMap(name => CheckpointFiles.parse(name).map(name -> _))
      .collect {
        case (name, file: ManifestName) if file.version == version => Left(name)
        case (name, file: RunName) if file.version == version      => Right(name)
      }
      .partitionMap(identity)
    manifests ++ runs
  }
}

private object InPlace {
  private val log = LoggerFactory.getLogger(classOf[InPlace])
}
