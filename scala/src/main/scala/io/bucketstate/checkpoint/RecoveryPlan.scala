package io.bucketstate.checkpoint

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
    if (target < 0) {
      throw new InvalidException(
        s"Version $target of the store was asked for, versions start at 0",
        "This is a defect of the caller; please report it."
      )
    }
    val base = snapshots.iterator.filter(s => s > 0 && s <= target).maxOption.getOrElse(0L)
    RecoveryPlan(base, (base + 1) to target)
  }
}
