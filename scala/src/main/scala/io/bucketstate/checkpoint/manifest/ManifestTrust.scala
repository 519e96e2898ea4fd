package io.bucketstate.checkpoint.manifest

import scala.collection.mutable

import io.bucketstate.checkpoint.io.{CheckpointFiles, ManifestName}
import io.bucketstate.error.{BucketstateException, CorruptException}

/**
 * What is done about a manifest that cannot be loaded, itself or a file it names.
 *
 * @param enabled              whether an older manifest may be used instead: Spark's
 *                             `autoSnapshotRepair.enabled`
 * @param failuresBefore       how often it is tried before that
 * @param maxChangelogsToReplay how far an older manifest may lie behind the version wanted
 */
final case class RepairRules(enabled: Boolean, failuresBefore: Int, maxChangelogsToReplay: Int) {

  /** Whether others are to be used in place of what failed so often. */
  def isEnough(failures: Int): Boolean = enabled && failures >= math.max(1, failuresBefore)
}

/**
 * Remembers which manifests failed to load, and how often, and which data files turned out to be damaged: no manifest that
 * names one of those is of use, so the first failure speaks for all of them. Whoever reads the files of a store tells it, and
 * recovery, snapshots and retention all ask it. Thread-safe.
 */
private[bucketstate] final class ManifestTrust {
  import ManifestTrust.Failures

  private[this] val manifests = mutable.HashMap.empty[String, Failures]
  private[this] val dataFiles =
    mutable.HashMap.empty[String, Failures] // by the last part of their names

  /**
   * A manifest, or a file that it names, could not be loaded. What is damaged stays so, in whatever manifest it is named;
   * what is only gone is left to whoever lists what is there, because it may be there the next time.
   */
  def failed(manifest: ManifestName, cause: BucketstateException): Unit = cause match {
    case damage: CorruptException =>
      synchronized {
        manifests.updateWith(manifest.name)(Failures.and(damage))
        dataFiles.updateWith(CheckpointFiles.leaf(damage.file))(Failures.and(damage))
        ()
      }
    case _ => ()
  }

  /** A manifest or one of its data files failed elsewhere than in loading a version; of other files nothing is noted. */
  def failedIn(manifest: Manifest, cause: BucketstateException): Unit = cause match {
    case damage: CorruptException =>
      val leaf = CheckpointFiles.leaf(damage.file)
      val its = Iterator(manifest.file.name) ++ manifest.fileNames
      if (its.exists(CheckpointFiles.leaf(_) == leaf)) failed(manifest.file, damage)
    case _ => ()
  }

  /** False when the manifest failed so often that others are to be used. */
  def isTrusted(manifest: ManifestName, rules: RepairRules): Boolean = synchronized {
    !manifests.get(manifest.name).exists(failures => rules.isEnough(failures.count))
  }

  /** What it failed with last. */
  def causeOf(manifest: ManifestName): Option[CorruptException] = synchronized {
    manifests.get(manifest.name).map(_.last)
  }

  /** What is wrong with one of a manifest's data files, if that is known and others are to be used. */
  def damageIn(manifest: Manifest, rules: RepairRules): Option[CorruptException] =
    damageIn(manifest, rules.isEnough(_))

  /**
   * What is known to be wrong with a manifest or one of its data files, however often that failed: nothing new is built on
   * it, and nothing that is older may go for its sake.
   */
  def wrongWith(manifest: Manifest): Option[CorruptException] =
    causeOf(manifest.file).orElse(damageIn(manifest, (_: Int) => true))

  private def damageIn(manifest: Manifest, isEnough: Int => Boolean): Option[CorruptException] =
    synchronized {
      if (dataFiles.isEmpty) None
      else
        manifest.fileNames.iterator
          .flatMap(name => dataFiles.get(CheckpointFiles.leaf(name)))
          .find(failures => isEnough(failures.count))
          .map(_.last)
    }

  /** The manifest was written anew, which may have had a damaged namesake. */
  def renewed(manifest: ManifestName): Unit = synchronized {
    manifests.remove(manifest.name)
    ()
  }
}

private object ManifestTrust {

  /** @param last the newest one */
  private final case class Failures(count: Int, last: CorruptException)

  private object Failures {
    def and(cause: CorruptException)(before: Option[Failures]): Option[Failures] =
      Some(Failures(before.fold(0)(_.count) + 1, cause))
  }
}
