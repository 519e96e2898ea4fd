package io.bucketstate.checkpoint.snapshot

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.changelog.{ChangelogReader, Lineage}
import io.bucketstate.checkpoint.io.{Attempt, CheckpointFiles, FileStore, ManifestName}
import io.bucketstate.checkpoint.manifest.{Manifest, ManifestTrust, Manifests}
import io.bucketstate.error.{CorruptException, MissingException}

/** Finds the manifest that a snapshot can build on. Thread-safe. */
private[snapshot] final class SnapshotBases(
    folder: FileStore,
    manifests: Manifests,
    trust: ManifestTrust
) {

  /**
   * The newest manifest below the target that leads to it, and of which no damage is known, and the changelogs from there.
   *
   * @param hint tried first: it saves the listing
   */
  def of(target: Attempt, hint: Option[Manifest]): (Option[Manifest], Lineage) = {
    val damage = ArrayBuffer.empty[CorruptException]
    def isSound(manifest: Manifest) = {
      val wrong = trust.wrongWith(manifest)
      damage ++= wrong
      wrong.isEmpty
    }
    try
      hint
        .filter(m => m.version < target.version && isSound(m))
        .flatMap(leading(_, target))
        .orElse(search(target, isSound))
        .fold((Option.empty[Manifest], Lineage.of(folder, target)(_ => false))) {
          case (manifest, lineage) => (Some(manifest), lineage)
        }
    catch {
      // What would lead further back is gone: it is missed because of the damage.
      case e: MissingException =>
        damage.distinct.foreach(e.addSuppressed)
        throw e
    }
  }

  private def search(
      target: Attempt,
      isSound: Manifest => Boolean
  ): Option[(Manifest, Lineage)] = {
    val below = folder.list().iterator.map(f => CheckpointFiles.parse(f.name)).collect {
      case Some(m: ManifestName) if m.version < target.version => m
    }
    val all = below.toSeq.sortBy(-_.version)
    lazy val data = folder.list(CheckpointFiles.RunFolder).iterator.map(_.name).toSet
    all.iterator
      .flatMap(readable)
      .filter(isSound)
      .filter(_.fileNames.subsetOf(data))
      .flatMap(leading(_, target))
      .nextOption()
  }

  /** The manifest with the changelogs from it to the target, if it is of the target's history. */
  private def leading(manifest: Manifest, target: Attempt): Option[(Manifest, Lineage)] = {
    val lineage = Lineage.of(folder, target)(_.version <= manifest.version)
    val isOnIt = lineage.base == manifest.attempt &&
      lineage.changelogs.lastOption.forall(next =>
        manifest.isBaseOf(ChangelogReader.readHeader(folder, next))
      )
    Option.when(isOnIt)(manifest -> lineage)
  }

  private def readable(file: ManifestName): Option[Manifest] =
    try Some(manifests.read(file))
    catch { case e: CorruptException if !e.isNewer => None }
}
