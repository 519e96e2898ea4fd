package io.bucketstate.checkpoint.recovery

import io.bucketstate.error.InvalidException

/**
 * How the state of a version comes back: load `base` (0 is the empty store), then replay these
 * versions' changelogs in this order.
 */
final case class RecoveryPlan(base: Long, changelogs: Seq[Long])

object RecoveryPlan {

  /**
   * @param target    the version wanted
   * @param snapshots versions that can be loaded without any changelog; those above the target are
   *                  of no use, because changes cannot be undone
   */
  def to(target: Long, snapshots: Iterable[Long] = Nil): RecoveryPlan = {
    val base = bases(target, snapshots).headOption.getOrElse(0L)
    RecoveryPlan(base, (base + 1) to target)
  }

  /**
   * The ways to a version in the order to try them: from the newest snapshot, and when that or a run
   * of it turns out to be damaged, from the one before, at last from the empty store. All lead to the
   * very same state. The first is there even if changelogs are missing, so that loading it says which.
   *
   * @param limit        how many to try at most
   * @param hasChangelog which changelogs are there, as far as that is known
   */
  def candidates(
      target: Long,
      snapshots: Iterable[Long],
      limit: Int,
      hasChangelog: Long => Boolean = _ => true
  ): Seq[RecoveryPlan] = {
    val possible = bases(target, snapshots) :+ 0L
    val (first, others) = (possible.head, possible.tail)
    val lowest = Iterator.iterate(first)(_ - 1).find(v => v <= 0 || !hasChangelog(v)).getOrElse(0L)
    (first +: others.filter(_ >= lowest)).take(math.max(1, limit)).map { base =>
      RecoveryPlan(base, (base + 1) to target)
    }
  }

  private def bases(target: Long, snapshots: Iterable[Long]): Seq[Long] = {
    if (target < 0) {
      throw new InvalidException(
        s"Version $target of the store was asked for, versions start at 0",
        "This is a defect of the caller; please report it."
      )
    }
    snapshots.iterator.filter(s => s > 0 && s <= target).toSeq.distinct.sorted.reverse
  }
}
