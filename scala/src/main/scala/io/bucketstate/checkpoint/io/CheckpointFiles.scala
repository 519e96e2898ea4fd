package io.bucketstate.checkpoint.io

import java.util.UUID

import scala.util.Try
import scala.util.matching.Regex

import io.bucketstate.error.InvalidException

/**
 * One attempt at a version of a store: what changelogs, manifests and memory are known by.
 *
 * @param version      0 is the empty store
 * @param checkpointId tells attempts at the version apart, with checkpoint format 2; None for what was
 *                     written without ids
 */
final case class Attempt(version: Long, checkpointId: Option[String] = None) {
  if (version < 0) {
    throw CheckpointFiles.invalid(s"$version is not a store version, which starts at 0")
  }
  if (!checkpointId.forall(CheckpointFiles.CheckpointId.matches)) {
    throw CheckpointFiles.invalid(
      s"'${checkpointId.mkString}' is not a checkpoint id of letters, digits and dashes"
    )
  }

  /** The name of its changelog. */
  def changelog: String = ChangelogName(this).name

  /** The checkpoint id, for messages. */
  def idText: String = checkpointId.getOrElse("(none)")
}

/** A file of a store's checkpoint folder, known by its name alone. */
sealed trait CheckpointFile {

  /** Relative to the store's folder. */
  def name: String
}

/** A file of one attempt at a version. */
sealed trait VersionedFile extends CheckpointFile {
  def attempt: Attempt

  final def version: Long = attempt.version

  final def checkpointId: Option[String] = attempt.checkpointId

  protected def named(extension: String): String =
    s"$version${checkpointId.fold("")("_" + _)}.$extension"
}

final case class ChangelogName(attempt: Attempt) extends VersionedFile {
  def name: String = named("changelog")
}

final case class ManifestName(attempt: Attempt) extends VersionedFile {
  def name: String = named("manifest")
}

/** @param number tells the files of one run apart, which each hold a span of buckets */
final case class RunName(version: Long, number: Int, id: UUID) extends CheckpointFile {
  if (version < 0 || number < 0) {
    throw CheckpointFiles.invalid(
      s"$number of version $version is not a run's file: both start at 0"
    )
  }

  def name: String = s"${CheckpointFiles.RunFolder}/$version-$number-$id.sst"
}

/**
 * What a write leaves behind that did not finish, ours or that of Spark's `CheckpointFileManager`.
 *
 * @param target the name the file would have got
 * @param task   the task attempt that Spark's manager adds to its temporary files
 */
final case class TemporaryName(target: String, id: UUID, task: Option[Long] = None)
    extends CheckpointFile {
  def name: String = {
    val slash = target.lastIndexOf('/') + 1
    val tid = task.fold("")(t => s".TID$t")
    s"${target.take(slash)}.${target.drop(slash)}.$id$tid.tmp"
  }
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

  /** The last part of a name or a path. */
  def leaf(path: String): String = path.substring(path.lastIndexOf('/') + 1)

  val RunFolder = "runs"

  /** The folders that hold a store's files: `""` is the store's own. */
  val Folders: Seq[String] = Seq("", RunFolder)

  def parse(name: String): Option[CheckpointFile] = name match {
    case Versioned(v, id, kind) =>
      number(v).map(Attempt(_, Option(id))).map { attempt =>
        if (kind == "changelog") ChangelogName(attempt) else ManifestName(attempt)
      }
    case DataFile(v, n, id) =>
      for {
        version <- number(v)
        index <- n.toIntOption
        uuid <- uuid(id)
      } yield RunName(version, index, uuid)
    case Unfinished(folder, base, id, task) =>
      for {
        uuid <- uuid(id)
        tid <- if (task == null) Some(None) else number(task).map(Some(_))
      } yield TemporaryName(folder + base, uuid, tid)
    case _ => None
  }

  private[io] val CheckpointId: Regex = "[A-Za-z0-9-]+".r

  private[io] def invalid(problem: String): InvalidException =
    new InvalidException(problem, "No file can have such a name; this is a defect of the caller.")

  private val Decimal = "0|[1-9][0-9]*"
  private val Uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
  private val Versioned: Regex = s"($Decimal)(?:_($CheckpointId))?\\.(changelog|manifest)".r
  private val DataFile: Regex = s"$RunFolder/($Decimal)-($Decimal)-($Uuid)\\.sst".r
  private val Unfinished: Regex =
    s"((?:[^/]+/)*)\\.([^/]+)\\.($Uuid)(?:\\.TID($Decimal))?\\.tmp".r

  private def number(digits: String): Option[Long] = digits.toLongOption

  private def uuid(text: String): Option[UUID] = Try(UUID.fromString(text)).toOption
}
