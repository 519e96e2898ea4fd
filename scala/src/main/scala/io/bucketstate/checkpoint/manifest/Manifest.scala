package io.bucketstate.checkpoint.manifest
import java.util.UUID

import io.bucketstate.checkpoint.changelog.{ChangelogFamily, ChangelogHeader}
import io.bucketstate.checkpoint.io.{Attempt, ManifestName}
import io.bucketstate.checkpoint.run.Run
import io.bucketstate.table.{FamilyDescriptor, TimeBuckets}

/**
 * A column family at a manifest's version.
 *
 * @param keyCount    keys it holds, counted exactly, unless it is estimated
 * @param times       the same by time bucket, where records have times
 * @param keySchema   Spark's JSON of the key's schema, for who reads the checkpoint without the query
 * @param valueSchema the same of the value's
 * @param isEstimated whether `keyCount` is an estimate; never where records have times
 */
final case class ManifestFamily(
    descriptor: FamilyDescriptor,
    keyCount: Long,
    keySchema: Option[String] = None,
    valueSchema: Option[String] = None,
    times: Option[TimeBuckets] = None,
    isEstimated: Boolean = false
) {

  /** As the changelog of the version has it. */
  def counted: ChangelogFamily = ChangelogFamily(descriptor, keyCount, times, isEstimated)
}

/**
 * "The state at `version` is these runs": what makes a version loadable without the changelogs up to
 * it. [[ManifestInvariants]] says what must be true of one.
 *
 * @param storeId          which store this is, as users know it
 * @param runs             newest first
 * @param commitId         of the changelog of this version that the runs hold
 * @param nextFamily       the number that the next new family gets, where that is not one more than the
 *                         highest of `families`
 * @param checkpointId     of this version, with checkpoint format 2
 * @param baseCheckpointId of the version before it, with checkpoint format 2
 */
final case class Manifest(
    storeId: String,
    version: Long,
    numBuckets: Int,
    hashFunction: String,
    families: Seq[ManifestFamily],
    runs: Seq[Run],
    commitId: Option[UUID] = None,
    checkpointId: Option[String] = None,
    baseCheckpointId: Option[String] = None,
    nextFamily: Option[Int] = None
) {
  def file: ManifestName = ManifestName(attempt)

  /** Which attempt at which version it holds. */
  def attempt: Attempt = Attempt(version, checkpointId)

  /**
   * Whether the changelog of the next version was made on top of what this holds. With checkpoint
   * format 1 a version may have been rewritten since; with format 2 the rewrite has another name.
   */
  def isBaseOf(next: ChangelogHeader): Boolean =
    next.checkpointId.isDefined || next.baseId.forall(id => commitId.forall(_.toString == id))

  /** Whether this holds what the changelog of its own version led to. */
  def covers(own: ChangelogHeader): Boolean =
    own.checkpointId.isDefined || commitId.forall(_ == own.commitId)

  /** The number that the next new family gets: no run holds anything of that family. */
  def firstFreeFamily: Int =
    nextFamily.getOrElse(families.iterator.map(_.descriptor.id + 1).maxOption.getOrElse(0))

  /** The names of all files that it needs. */
  def fileNames: Set[String] = runs.iterator.flatMap(_.files).map(_.name).toSet

  def bytes: Long = runs.iterator.map(_.bytes).sum

  /** The time buckets of the families whose records have times, by number. */
  def times: Map[Int, TimeBuckets] =
    ChangelogFamily.timesOf(families.map(_.counted))

  /** Keys of all families, about so many where one is estimated. */
  def keys: Long = families.iterator.map(_.keyCount).sum
}
