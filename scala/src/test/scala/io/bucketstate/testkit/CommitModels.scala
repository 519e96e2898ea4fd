package io.bucketstate.testkit

import java.util.UUID

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.recovery.Recovered
import io.bucketstate.testkit.StoreHarness.Appended

/**
 * What the commits of a store led to, each by its id, as plain maps: so what is made of the files of a checkpoint is held to
 * what was written, and not to itself.
 *
 * Without checkpoint ids another attempt may replace a version's file after the next version was built on it. What is loaded
 * then consists of changes that were never made one on top of the other, and so the changes of each commit are known, too.
 */
final class CommitModels {
  import CommitModels._

  private var commits = Map.empty[UUID, Made]
  private var written = Map.empty[Attempt, UUID] // the last one of each, whose file it was

  /**
   * A commit was made, perhaps once more; what it led to.
   *
   * @param before what it was made on top of
   */
  def made(attempt: Attempt, commitId: UUID, before: Model, changes: Batch): Model = {
    val own = recorded(before, changes)
    val model = SnapshotRoom.after(before, own)
    require(
      commits.get(commitId).forall(_.model == model),
      s"commit $commitId of $attempt was made again, and led to something else"
    )
    commits += commitId -> new Made(own, model)
    written += attempt -> commitId
    model
  }

  /**
   * What a version has to hold by the commits that it says it was restored from. These have to be the ones that lead to the
   * last attempt that was made of it.
   */
  def of(attempt: Attempt, recovered: Recovered): Model = {
    require(
      recovered.commitId == written.get(attempt),
      s"$attempt is commit ${written.get(attempt)}, and ${recovered.commitId} was restored"
    )
    val base = recovered.manifest.fold(0L)(_.version)
    val versions = recovered.tail.map(_.attempt.version)
    require(
      versions == (base + 1L to attempt.version),
      s"$attempt was restored from version $base and the changes of versions $versions"
    )
    val model = recovered.tail.foldLeft(modelOf(recovered.manifest.flatMap(_.commitId))) {
      (before, version) => SnapshotRoom.after(before, commits(version.commitId).changes)
    }
    require(
      recovered.replaced.nonEmpty || model == modelOf(recovered.commitId),
      s"$attempt was restored from commits that do not lead to it"
    )
    model
  }

  private def modelOf(commitId: Option[UUID]): Model =
    commitId.fold(Empty)(id => commits(id).model)
}

object CommitModels {
  type Model = Map[String, String]

  /** Of each key its value, one that is [[StoreHarness.Appended]], or None where it is removed. */
  type Batch = Map[String, Option[String]]

  private val Empty: Model = Map.empty

  private final class Made(val changes: Batch, val model: Model)

  /**
   * Changes as a file has them, whatever comes to be below it later on: what is not there is not removed, and what is appended
   * to nothing is put.
   */
  private def recorded(before: Model, changes: Batch): Batch = changes.collect {
    case (key, Some(Appended(more))) if !before.contains(key)    => key -> Some(more)
    case (key, value) if value.isDefined || before.contains(key) => key -> value
  }
}
