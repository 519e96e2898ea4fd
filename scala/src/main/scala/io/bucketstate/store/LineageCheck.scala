package io.bucketstate.store

import java.util.UUID
import java.util.concurrent.{ExecutionException, FutureTask, TimeUnit, TimeoutException}

import io.bucketstate.background.BackgroundPool
import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.checkpoint.manifest.StoredVersion
import io.bucketstate.error.{ConflictException, UnavailableException}

/**
 * Finds out whether the files of a version are still those that memory was built from: with
 * checkpoint format 1 two attempts of a task write the same name, and the last one wins. One small read,
 * made beside the batch, where the commit would not find out by itself; the task asks for the outcome before it commits.
 *
 * @param file  as users find it
 * @param check the read, begun or not
 */
private[bucketstate] final class LineageCheck private (file: String, check: FutureTask[Unit]) {

  /**
   * Waits for the read, or makes it now if its turn has not come: slow reads of other stores hold nobody
   * up. Throws `ConflictException` if the file is another attempt's, `MissingException` if it is gone,
   * and `UnavailableException` if nobody can tell.
   */
  def settle(limitMs: Long = LineageCheck.LimitMs): Unit = {
    check.run()
    try check.get(limitMs, TimeUnit.MILLISECONDS)
    catch {
      case e: ExecutionException => throw e.getCause
      case e: TimeoutException   =>
        throw new UnavailableException(
          file,
          s"a read of its first bytes has not ended after $limitMs ms",
          "Check that the checkpoint's file system is reachable; the same task may succeed when it is " +
            "tried again.",
          e
        )
    }
  }
}

private[bucketstate] object LineageCheck {

  /** Longer than any read of some bytes takes that still comes to an end. */
  private final val LimitMs = 60000L

  /** Nothing to check: the version was read from its file just now, or is the empty store. */
  val Settled: LineageCheck = new LineageCheck("", new FutureTask[Unit](() => ()))

  /**
   * @param nextIsNew whether the commit is of a version that has no file, as far as it is known here. Then no read is
   *                  needed where the storage refuses to replace one: see [[Committer]].
   */
  def start(
      folder: FileStore,
      version: Long,
      expected: UUID,
      nextIsNew: Boolean
  ): LineageCheck = {
    val check = new FutureTask[Unit](() =>
      if (!nextIsNew || !refusesTaken(folder)) compare(folder, version, expected)
    )
    BackgroundPool.headers.execute(check)
    new LineageCheck(s"${folder.location}/${Attempt(version).changelog}", check)
  }

  private def refusesTaken(folder: FileStore): Boolean =
    try folder.refusesTaken
    catch { case _: UnavailableException => false }

  private def compare(folder: FileStore, version: Long, expected: UUID): Unit = {
    val stored = StoredVersion.of(folder, Attempt(version))
    stored.commitId.filter(_ != expected).foreach { found =>
      throw new ConflictException(
        s"${folder.location}/${stored.file.name} was replaced: version $version in memory is of commit " +
          s"$expected, the file of $found",
        "Another attempt of the task won. This attempt fails; its retry loads the file."
      )
    }
  }
}
