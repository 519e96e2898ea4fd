package io.bucketstate.background

import java.util.concurrent.Executor

/**
 * Threads for work that whoever waits for it does by itself where nobody has begun it. Where the process may have no more
 * threads ("unable to create native thread", as at the limit of a container), nobody comes, and nothing fails.
 */
private[bucketstate] final class OptionalThreads(threads: Executor) extends Executor {

  override def execute(task: Runnable): Unit =
    try threads.execute(task)
    catch { case _: OutOfMemoryError => () }
}
