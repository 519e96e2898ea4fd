package io.bucketstate.checkpoint.manifest

import scala.collection.mutable

import io.bucketstate.checkpoint.io.{CheckpointFiles, ManifestName}
import io.bucketstate.error.CorruptException

/**
 * What is done about a manifest that cannot be loaded, itself or a file it names.
 *
 * @param enabled              whether an older manifest may be used instead: Spark's
 *                             `autoSnapshotRepair.enabled`
 * @param failuresBefore       how often it is tried before that
 * @param maxChangelogsToReplay how far an older manifest may lie behind the version wanted
 */
final case class RepairRules(enabled: Boolean, failuresBefore: Int, maxChangelogsToReplay: Int)

/** Remembers which manifests failed to load, and how often. Thread-safe. */
private[checkpoint] final class ManifestTrust(rules: RepairRules) {
  private[this] val failures = mutable.HashMap.empty[String, Int]
  private[this] val damaged = mutable.HashMap.empty[String, CorruptException] // by data file

  def failed(manifest: ManifestName): Unit = synchronized {
    failures.updateWith(manifest.name)(n => Some(n.getOrElse(0) + 1))
    ()
  }

  /** False when the manifest failed so often that others are to be used. */
  def isTrusted(manifest: ManifestName): Boolean = synchronized {
    !rules.enabled || failures.getOrElse(manifest.name, 0) < math.max(1, rules.failuresBefore)
  }

  /** A data file turned out to be damaged, whichever manifests name it. */
  def failed(cause: CorruptException): Unit = synchronized {
    damaged(CheckpointFiles.leaf(cause.file)) = cause
  }

  /** What is wrong with one of a manifest's data files, if that is known and others are to be used. */
  def damageIn(manifest: Manifest): Option[CorruptException] = synchronized {
    if (!rules.enabled || damaged.isEmpty) None
    else
      manifest.fileNames.iterator
        .flatMap(name => damaged.get(CheckpointFiles.leaf(name)))
        .nextOption()
  }

  /** The manifest was written anew. */
  def renewed(manifest: ManifestName): Unit = synchronized {
    failures.remove(manifest.name)
    ()
  }
}
