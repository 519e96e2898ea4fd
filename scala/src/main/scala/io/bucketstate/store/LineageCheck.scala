package io.bucketstate.store

import java.util.UUID
import java.util.concurrent.{
  CompletableFuture,
  ExecutionException,
  LinkedBlockingQueue,
  ThreadPoolExecutor,
  TimeUnit
}

import io.bucketstate.checkpoint.changelog.ChangelogReader
import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.error.ConflictException

/**
 * Finds out whether the changelog of a version is still the one that memory was built from: with
 * checkpoint format 1 two attempts of a task write the same name, and the last one wins. One small read,
 * made beside the batch; the task asks for the outcome before it commits.
 */
private[bucketstate] final class LineageCheck private (outcome: CompletableFuture[Void]) {

  /** Waits for the read; throws `ConflictException` if the file is another attempt's. */
  def settle(): Unit =
    try {
      outcome.get()
      ()
    } catch {
      case e: ExecutionException => throw e.getCause
    }
}

private[bucketstate] object LineageCheck {

  /** Nothing to check: the version was read from its file just now, or is the empty store. */
  val Settled: LineageCheck = new LineageCheck(CompletableFuture.completedFuture[Void](null))

  def start(store: FileStore, version: Long, expected: UUID): LineageCheck =
    new LineageCheck(CompletableFuture.runAsync(() => compare(store, version, expected), threads))

  private def compare(store: FileStore, version: Long, expected: UUID): Unit = {
    val file = Attempt(version)
    val found = ChangelogReader.readHeader(store, file).commitId
    if (found != expected) {
      throw new ConflictException(
        s"${store.location}/${file.changelog} was replaced: version $version in memory is of commit " +
          s"$expected, the file of $found",
        "Another attempt of the task won. This attempt fails; its retry loads the file."
      )
    }
  }

  /** One small read per store and batch; idle threads go after a few seconds. */
  private lazy val threads: ThreadPoolExecutor = {
    val pool = new ThreadPoolExecutor(
      4,
      4,
      5L,
      TimeUnit.SECONDS,
      new LinkedBlockingQueue[Runnable](),
      (task: Runnable) => {
        val thread = new Thread(task, "bucketstate-lineage-check")
        thread.setDaemon(true)
        thread
      }
    )
    pool.allowCoreThreadTimeOut(true)
    pool
  }
}
