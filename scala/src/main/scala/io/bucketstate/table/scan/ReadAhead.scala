package io.bucketstate.table.scan

import java.util.concurrent.{ExecutionException, FutureTask}

/** Something that is read at most once: by a thread to spare, or by the first that needs it. Thread-safe. */
private[table] final class ReadAhead[A](read: () => A) extends Runnable {
  private[this] val task = new FutureTask[A](() => read())

  override def run(): Unit = task.run()

  /** What was read; throws what the reading threw. */
  def take(): A = {
    run() // does nothing where another thread has begun
    try task.get()
    catch { case e: ExecutionException => throw e.getCause }
  }
}
