package io.bucketstate.checkpoint

import java.util.UUID

import scala.util.Try
import scala.util.matching.Regex

import io.bucketstate.error.InvalidException

/** A file of a store's checkpoint folder, known by its name alone. */
sealed trait CheckpointFile {

  /** Relative to the store's folder. */
  def name: String
}

/**
 * All file names of a checkpoint, made and parsed here and nowhere else.
 *
 * {{{
 *   <version>[_<checkpoint id>].changelog
 *   <version>[_<checkpoint id>].manifest
 *   runs/<version>-<number>-<uuid>.sst
 *   [<folder>/].<name>.<uuid>[.TID<task>].tmp     a write that is under way or was abandoned
 * }}}
 *
 * Numbers are decimal without padding, like Spark's own `<version>.delta`. Each file has exactly one
 * name: `parse(file.name) == Some(file)`, and a name that no file would be given parses to `None`.
 */
object CheckpointFiles {

  final case class Changelog(version: Long, checkpointId: Option[String] = None)
      extends CheckpointFile {
    checkVersion(version, checkpointId)
    def name: String = versioned(version, checkpointId, "changelog")
  }

  final case class Manifest(version: Long, checkpointId: Option[String] = None)
      extends CheckpointFile {
    checkVersion(version, checkpointId)
    def name: String = versioned(version, checkpointId, "manifest")
  }

  /** @param number tells the files of one run apart, which each hold a span of buckets */
  final case class Run(version: Long, number: Int, id: UUID) extends CheckpointFile {
    checkVersion(version, None)
    if (number < 0) throw invalid(s"$number is not the number of a run's file, which starts at 0")
    def name: String = s"$RunFolder/$version-$number-$id.sst"
  }

  /**
   * What a write leaves behind that did not finish, ours or that of Spark's `CheckpointFileManager`.
   *
   * @param target the name the file would have got
   * @param task   the task attempt that Spark's manager adds to its temporary files
   */
  final case class Temporary(target: String, id: UUID, task: Option[Long] = None)
      extends CheckpointFile {
    def name: String = {
      val slash = target.lastIndexOf('/') + 1
      val tid = task.fold("")(t => s".TID$t")
      s"${target.take(slash)}.${target.drop(slash)}.$id$tid.tmp"
    }
  }

  val RunFolder = "runs"

  /** The folders that hold a store's files: `""` is the store's own. */
  val Folders: Seq[String] = Seq("", RunFolder)

  def parse(name: String): Option[CheckpointFile] = name match {
    case Versioned(v, id, "changelog") => number(v).map(Changelog(_, Option(id)))
    case Versioned(v, id, _)           => number(v).map(Manifest(_, Option(id)))
    case RunName(v, n, id)             =>
      for {
        version <- number(v)
        index <- n.toIntOption
        uuid <- uuid(id)
      } yield Run(version, index, uuid)
    case TemporaryName(folder, base, id, task) =>
      for {
        uuid <- uuid(id)
        tid <- if (task == null) Some(None) else number(task).map(Some(_))
      } yield Temporary(folder + base, uuid, tid)
    case _ => None
  }

  private val Decimal = "0|[1-9][0-9]*"
  private val Uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
  private val CheckpointId: Regex = "[A-Za-z0-9-]+".r
  private val Versioned: Regex = s"($Decimal)(?:_($CheckpointId))?\\.(changelog|manifest)".r
  private val RunName: Regex = s"$RunFolder/($Decimal)-($Decimal)-($Uuid)\\.sst".r
  private val TemporaryName: Regex =
    s"((?:[^/]+/)*)\\.([^/]+)\\.($Uuid)(?:\\.TID($Decimal))?\\.tmp".r

  private def versioned(version: Long, id: Option[String], extension: String): String =
    s"$version${id.fold("")("_" + _)}.$extension"

  private def checkVersion(version: Long, id: Option[String]): Unit = {
    if (version < 0) throw invalid(s"$version is not a store version, which starts at 0")
    if (!id.forall(CheckpointId.matches)) {
      throw invalid(s"'${id.mkString}' is not a checkpoint id of letters, digits and dashes")
    }
  }

  private def number(digits: String): Option[Long] = digits.toLongOption

  private def uuid(text: String): Option[UUID] = Try(UUID.fromString(text)).toOption

  private def invalid(problem: String): InvalidException =
    new InvalidException(problem, "No file can have such a name; this is a defect of the caller.")
}
