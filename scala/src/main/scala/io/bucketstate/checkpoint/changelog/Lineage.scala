package io.bucketstate.checkpoint.changelog

import io.bucketstate.checkpoint.io.{Attempt, Damage, FileStore}
import io.bucketstate.error.{CorruptException, InvalidException}

/**
 * The changelogs that lead to a version, and to no other attempt at it.
 *
 * @param base       what the oldest of them applies to, by version and checkpoint id; version 0 is the
 *                   empty store, for which there is no file
 * @param changelogs newest first
 */
final case class Lineage(base: Attempt, changelogs: Seq[Attempt]) {

  /** Each changelog with what it applies to, oldest first: in the order of their replay. */
  def inOrder: Seq[(Attempt, Attempt)] =
    changelogs.zip(changelogs.drop(1) :+ base).reverse
}

/**
 * Finds out from which changelogs a version was made. With checkpoint ids, several files of one version
 * may lie in the folder, one of each attempt; which of them count is said by the files themselves, from
 * header to header backwards. Without ids a version has one file, and nothing needs to be read.
 *
 * A checkpoint may start without ids and go on with them: then the first file with an id applies to one
 * without. It never goes the other way.
 */
object Lineage {

  /**
   * Goes back from `target`, which is known by version and checkpoint id, until `reached`, or else until
   * the empty store. One small read for each changelog with an id.
   *
   * @param reached whether the state at a version can be had without its changelog
   */
  def of(folder: FileStore, target: Attempt)(reached: Attempt => Boolean): Lineage = {
    if (target.version == 0 && target.checkpointId.isDefined) {
      throw new InvalidException(
        s"Version 0 of the store was asked for with the checkpoint id ${target.idText}; it is the empty " +
          "store, which has none",
        "This is a defect of the caller; please report it."
      )
    }
    val changelogs = Seq.newBuilder[Attempt]
    var at = target
    while (at.version > 0 && !reached(at)) {
      changelogs += at
      at = before(folder, at, target)
    }
    Lineage(at, changelogs.result())
  }

  private def before(folder: FileStore, file: Attempt, target: Attempt): Attempt =
    if (file.checkpointId.isEmpty) Attempt(file.version - 1)
    else {
      val header = new MissingChangelog(folder).explained(file, target) {
        ChangelogReader.readHeader(folder, file)
      }
      baseOf(folder, file, header)
    }

  /** What a changelog with this header applies to. */
  private[checkpoint] def baseOf(
      folder: FileStore,
      file: Attempt,
      header: ChangelogHeader
  ): Attempt = {
    header.baseId.filter(_ => file.version == 1).foreach { id =>
      throw corrupt(
        folder,
        file,
        s"expected no base checkpoint id in version ${file.version} with the checkpoint id " +
          s"${file.idText}, found $id"
      )
    }
    // Without checkpoint ids the base id is that of a commit, which is not part of any name.
    Attempt(file.version - 1, header.baseId.filter(_ => file.checkpointId.isDefined))
  }

  private[checkpoint] def corrupt(folder: FileStore, file: Attempt, problem: String) =
    new CorruptException(s"${folder.location}/${file.changelog}", problem, Damage.Remedy)
}
