package io.bucketstate.checkpoint.snapshot

import java.util.UUID

import io.bucketstate.checkpoint.changelog.ChangelogFamily
import io.bucketstate.checkpoint.io.{Attempt, ManifestName}
import io.bucketstate.checkpoint.manifest.{Checkpoint, Manifest, ManifestFamily, Manifests}
import io.bucketstate.checkpoint.records.{
  BucketSource,
  ChangeMerger,
  CountedRecords,
  ExpiredRecords
}
import io.bucketstate.checkpoint.run.{Run, TimeSlices, VersionSpan}
import io.bucketstate.error.{
  BucketstateException,
  ConflictException,
  CorruptException,
  MissingException
}
import io.bucketstate.record.BucketAssigner

/**
 * A whole state that builds on nothing.
 *
 * @param attempt    that it becomes
 * @param families   with the keys that each has, as far as they were counted
 * @param nextFamily number that the next new family gets
 */
final case class AloneState(
    attempt: Attempt,
    commitId: UUID,
    families: Seq[ChangelogFamily],
    nextFamily: Int,
    records: BucketSource
)

/**
 * Makes a version that is a manifest without a changelog. For one thread at a time.
 *
 * Without checkpoint ids two attempts may make the same version. Where the storage refuses to replace a file that is to be
 * new, the first one counts, as it does with changelogs: the second one fails.
 */
private[snapshot] final class AloneWriter(
    checkpoint: Checkpoint,
    storeId: String,
    schemas: String => Option[FamilySchemas]
) {
  import checkpoint.{assigner, folder, runs}

  private[this] val manifests = new Manifests(folder)
  @volatile private[this] var made = Set.empty[String]

  /** Data files that are being written and that no manifest names yet. */
  def inFlight: Set[String] = made

  /**
   * When it throws, the version is not there, unless an answer got lost.
   *
   * @param mayReplace whether an attempt that came to nothing may be replaced: else one that is there was faster, and
   *                   this throws `ConflictException`
   */
  def write(state: AloneState, mayReplace: Boolean): Manifest =
    try {
      val times = ChangelogFamily.timesOf(state.families)
      val merged = new ChangeMerger(Seq(state.records), assigner.numBuckets)
      val counted = new CountedRecords(new ExpiredRecords(times).removed(merged))
      val slices = TimeSlices.of(times, isCut = true)
      val span = VersionSpan(1L, state.attempt.version)
      val run =
        runs.writer.write(span, counted, oldest = true, slices, naming = name => made += name)
      try publish(manifestOf(state, run, counted), mayReplace)
      catch {
        // The manifest's reply may have been lost after it was there: then its run must stay.
        case failure: BucketstateException if !mayBeThere(state) =>
          runs.writer.discard(run.files).foreach(failure.addSuppressed)
          throw failure
      }
    } finally made = Set.empty

  private def publish(manifest: Manifest, mayReplace: Boolean): Manifest = {
    // Of an attempt that was given up: beside it the manifest would be taken for one that was replaced.
    if (manifest.checkpointId.isEmpty) folder.delete(manifest.attempt.changelog)
    if (mayReplace || manifest.checkpointId.isDefined) manifests.write(manifest)
    else if (!manifests.writeNew(manifest) && !isThere(manifest.file, manifest.commitId)) {
      throw overtaken(manifest)
    }
    manifest
  }

  private def manifestOf(state: AloneState, run: Run, counted: CountedRecords): Manifest =
    Manifest(
      storeId,
      state.attempt.version,
      assigner.numBuckets,
      BucketAssigner.HashName,
      state.families.map { family =>
        val found = counted.count(family.descriptor.id)
        family.keyCount.filter(_ != found).foreach { expected =>
          throw miscounted(state, family, expected, found)
        }
        val schema = schemas(family.descriptor.name)
        ManifestFamily(
          family.descriptor,
          Some(found),
          schema.map(_.key),
          schema.map(_.value),
          family.times
        )
      },
      Seq(run),
      Some(state.commitId),
      state.attempt.checkpointId,
      nextFamily = Some(state.nextFamily)
    )

  private def isThere(file: ManifestName, commitId: Option[UUID]): Boolean =
    try manifests.read(file).commitId == commitId
    catch { case _: MissingException | _: CorruptException => false }

  private def mayBeThere(state: AloneState): Boolean =
    try isThere(ManifestName(state.attempt), Some(state.commitId))
    catch { case _: BucketstateException => true }

  private def overtaken(manifest: Manifest) = new ConflictException(
    s"${folder.location}/${manifest.file.name} was written by another attempt at version ${manifest.version} since " +
      "this one began",
    "This attempt fails, and its state is dropped. If it is tried again, it replaces what is there."
  )

  private def miscounted(
      state: AloneState,
      family: ChangelogFamily,
      expected: Long,
      found: Long
  ) =
    new IllegalStateException(
      s"the column family '${family.descriptor.name}' should hold $expected keys at version " +
        s"${state.attempt.version} of $storeId, ${ManifestName(state.attempt).name} would hold $found"
    )
}
