package io.bucketstate.checkpoint.manifest
import java.util.UUID

import io.bucketstate.checkpoint.changelog.{ChangelogFamily, ChangelogHeader}
import io.bucketstate.checkpoint.io.{Attempt, ManifestName}
import io.bucketstate.checkpoint.run.Run
import io.bucketstate.record.{FamilyDescriptor, TimeBuckets}

/** So many keys a family held at a version. */
final case class KeysAt(version: Long, keys: Long)

/**
 * A column family at a manifest's version.
 *
 * @param keyCount    keys it holds, None if nobody has counted them; never None where records have times
 * @param times       the same by time bucket, where records have times
 * @param keySchema   Spark's JSON of the key's schema, for whoever reads the checkpoint without the query
 * @param valueSchema the same of the value's
 * @param lastCount   the last count of an older version, where this one was not counted: for people, it says nothing of
 *                    this version
 */
final case class ManifestFamily(
    descriptor: FamilyDescriptor,
    keyCount: Option[Long],
    keySchema: Option[String] = None,
    valueSchema: Option[String] = None,
    times: Option[TimeBuckets] = None,
    lastCount: Option[KeysAt] = None
) {

  /** The family as the changelog of the version describes it. */
  def described: ChangelogFamily = ChangelogFamily(descriptor, keyCount, times)
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
    ChangelogFamily.timesOf(families.map(_.described))

  /** The newest count of a family's keys that it knows of. */
  def lastCount(family: Int): Option[KeysAt] =
    families
      .find(_.descriptor.id == family)
      .flatMap(f => f.keyCount.map(KeysAt(version, _)).orElse(f.lastCount))
}
