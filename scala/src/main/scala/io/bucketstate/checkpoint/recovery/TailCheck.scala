package io.bucketstate.checkpoint.recovery

import java.util.concurrent.atomic.AtomicReference
import java.util.concurrent.{ExecutionException, FutureTask}

import io.bucketstate.checkpoint.changelog.ChangelogTail
import io.bucketstate.error.{CorruptException, MissingException}

/**
 * Verifies the changelogs of a restart whose blocks were not read before the first get: beside the first
 * batch, and before its commit, so that nothing is ever committed on top of a byte that nobody has
 * verified. Thread-safe.
 */
private[recovery] final class TailCheck private (verify: () => Unit) {
  private[this] val task = new AtomicReference(new FutureTask[Unit](() => verify()))

  def isDone: Boolean = task.get.isDone

  /** Does it, unless somebody else does. What is wrong is kept for [[settle]]. */
  def run(): Unit = task.get.run()

  /**
   * Waits for it, or does it now. Throws what is wrong with the files again and again; after anything else, which says nothing
   * of them, such as a read that failed or whatever a storage's client throws, it is tried anew.
   */
  def settle(): Unit = {
    val current = task.get
    current.run()
    try current.get()
    catch {
      case e: ExecutionException =>
        e.getCause match {
          case _: CorruptException | _: MissingException => ()
          case _                                         =>
            task.compareAndSet(current, new FutureTask[Unit](() => verify()))
        }
        throw e.getCause
    }
  }
}

private[recovery] object TailCheck {
  def of(tail: ChangelogTail): TailCheck =
    if (tail.isVerified) Settled else new TailCheck(() => tail.verify())

  /** Nothing is left to verify. */
  val Settled: TailCheck = {
    val check = new TailCheck(() => ())
    check.run()
    check
  }
}
