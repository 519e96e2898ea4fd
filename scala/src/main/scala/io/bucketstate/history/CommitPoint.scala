package io.bucketstate.history

import java.util.UUID

import io.bucketstate.checkpoint.io.Attempt

/**
 * One commit of a version: a state of a store, and no other.
 *
 * @param commitId None for the empty store
 * @param reading  0, unless another attempt has replaced a changelog after the next version was built on it: then what the
 *                 files lead to is told from what the same commits led to before, by the line that was read of them
 */
private[bucketstate] final case class CommitPoint(
    attempt: Attempt,
    commitId: Option[UUID],
    reading: Long = 0L
) {
  def version: Long = attempt.version

  def isOf(other: Attempt, id: Option[UUID]): Boolean = attempt == other && commitId == id
}

private[bucketstate] object CommitPoint {
  val Empty: CommitPoint = CommitPoint(Attempt(0L), None)
}
