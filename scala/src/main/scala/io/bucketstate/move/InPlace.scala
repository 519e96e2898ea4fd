package io.bucketstate.move

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
 * @param source at its last batch, and with no later one but that of the rewrite
 */
private[move] final class InPlace(source: SourceQuery, partitions: Int) {
  private[this] val folder = source.folder
  private[this] val logs = new QueryLogs(folder)

  val batch: Long = source.batch + 1

  /** The version that the batch makes. */
  private val version = batch + 1

  def begin(startedMs: Long): Unit = InPlaceMark(batch, partitions).write(folder, startedMs)

  /** From here on no query starts. */
  def plan(): Unit = folder.writeNew(s"offsets/$batch", planned.text.bytes)

  private def planned: OffsetEntry =
    source.offset
      .copy(batch = batch)
      .withSettings(Map(OffsetEntry.Partitions -> partitions.toString))

  /** Whether the batch in the offset log is the very one that this would plan. */
  def isPlanned: Boolean =
    folder.exists(s"offsets/$batch") &&
      folder.read(s"offsets/$batch").sameElements(planned.text.bytes)

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

  /** Throws `ConflictException` if anybody else has written to the logs. */
  def requireAlone(): Unit =
    if (logs.offsets.lastOption != Some(batch) || logs.commits.lastOption != Some(source.batch)) {
      throw new ConflictException(
        s"The logs of ${folder.location} have changed since the rewrite began",
        "A query, or another move, runs on it: stop it, and run the same command again. The rewrite is not committed."
      )
    }

  /** @param ids of the stores of the new version, where there are checkpoint ids */
  def commit(ids: Option[Map[Long, Seq[Seq[String]]]]): Unit =
    folder.writeNew(s"commits/$batch", source.commit.withIds(ids).text.bytes)

  def end(): Unit = folder.delete(InPlaceMark.File)

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

  /**
   * Takes back whatever there is of one that was planned: the commit first, then the state and what is said of it, and last
   * the plan, until which no query starts.
   */
  def takeBack(): Unit = {
    folder.delete(s"commits/$batch")
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
    folder.delete(s"offsets/$batch")
    end()
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
