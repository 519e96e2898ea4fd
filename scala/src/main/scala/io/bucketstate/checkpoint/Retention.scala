package io.bucketstate.checkpoint

import java.time.{Clock, Duration}

import io.bucketstate.error.BucketstateException

/** @param failed what could not be deleted; a later run will find it again */
final case class RetentionReport(
    deleted: Seq[Deletion],
    failed: Seq[(Deletion, BucketstateException)]
)

/** Carries out a [[RetentionPlan]]. */
final class Retention(
    store: FileStore,
    clock: Clock,
    grace: Duration = RetentionPlan.DefaultGrace
) {

  /** Throws only when the files cannot be listed. */
  def run(
      latest: Long,
      minVersionsToRetain: Int,
      selfContained: Iterable[Long] = Nil
  ): RetentionReport = {
    val files = CheckpointFiles.Folders.flatMap(store.list)
    val plan =
      RetentionPlan(files, latest, minVersionsToRetain, selfContained, clock.instant(), grace)
    val (failed, deleted) = plan.partitionMap { deletion =>
      try {
        store.delete(deletion.name)
        Right(deletion)
      } catch { case e: BucketstateException => Left(deletion -> e) }
    }
    RetentionReport(deleted, failed)
  }
}
