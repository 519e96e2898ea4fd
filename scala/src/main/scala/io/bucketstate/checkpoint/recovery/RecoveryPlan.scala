package io.bucketstate.checkpoint.recovery

import io.bucketstate.checkpoint.io.ManifestName
import io.bucketstate.error.{BucketstateException, InvalidException}

/** Why a manifest that leads to a version is not used for it. */
sealed abstract class PassReason(val name: String)

object PassReason {

  /** It, or a file that it names, is not what was written, or cannot be had. */
  case object Damaged extends PassReason("damaged")

  /** The version that it is of was written again after it. */
  case object Stale extends PassReason("stale")

  /** A file that it names is not there any more: it was published late. */
  case object Gone extends PassReason("gone")
}

/** A manifest that was tried and passed over. */
final case class PassedOver(
    manifest: ManifestName,
    reason: PassReason,
    cause: BucketstateException
)

/**
 * How the state of a version comes back: the bases to start from, in the order to try them, and which of
 * them may be tried after others failed. All lead to the very same state.
 *
 * @param target     the version wanted
 * @param bases      versions that can be loaded without any changelog, the newest first; 0 is the empty store
 * @param distrusted versions of manifests that failed so often that others stand in for them
 * @param maxReplay  how many changelogs may be replayed in place of a damaged manifest
 */
final case class RecoveryPlan(
    target: Long,
    bases: Seq[Long],
    distrusted: Set[Long],
    maxReplay: Int
) {

  /**
   * The base to try, None if none is left.
   *
   * @param last   what was tried last
   * @param passed what was passed over on the way
   */
  def next(last: Option[Long], passed: Seq[PassedOver]): Option[Long] =
    bases.filter(base => last.forall(base < _)).find { base =>
      repairs(base, passed) == 0 || target - base <= maxReplay
    }

  /** How many damaged manifests a base stands in for. */
  def repairs(base: Long, passed: Seq[PassedOver]): Int =
    distrusted.count(_ > base) + passed.count(_.reason == PassReason.Damaged)
}

object RecoveryPlan {

  /**
   * @param target       the version wanted
   * @param manifests    versions of the manifests that can be tried; those above the target are of no
   *                     use, because changes cannot be undone
   * @param distrusted   versions of those that are not to be tried
   * @param hasChangelog which changelogs are there, as far as that is known. The newest base is there even
   *                     if changelogs are missing, so that loading it says which.
   */
  def to(
      target: Long,
      manifests: Iterable[Long],
      distrusted: Iterable[Long],
      maxReplay: Int,
      hasChangelog: Long => Boolean
  ): RecoveryPlan = {
    if (target < 0) {
      throw new InvalidException(
        s"Version $target of the store was asked for, versions start at 0",
        "This is a defect of the caller; please report it."
      )
    }
    val possible =
      manifests.iterator.filter(m => m > 0 && m <= target).toSeq.distinct.sorted.reverse :+ 0L
    val lowest = Iterator
      .iterate(possible.head)(_ - 1)
      .find(v => v <= 0 || !hasChangelog(v))
      .getOrElse(0L)
    val bases = possible.head +: possible.tail.filter(_ >= lowest)
    RecoveryPlan(target, bases, distrusted.toSet, maxReplay)
  }
}
