package io.bucketstate.move.job

import java.util.concurrent.{ExecutionException, FutureTask}

/**
 * Work in a thread of its own, for whose end the caller waits. So an interrupt of the caller reaches none of the calls that the
 * work makes: it can be given up in its own way, and what is taken back then is not interrupted, either.
 */
private[move] object Apart {

  /** How often work is told that it was given up: a job that was about to begin has not heard of it. */
  private final val AgainMs = 20L

  /**
   * Returns what the work does, or throws what it throws, as it was. An interrupt gives it up, and its end is waited for all the
   * same; the caller is interrupted when this returns.
   *
   * @param giveUp asks the work to come to an end; called until it has. Throws nothing
   */
  def waited[A](name: String, giveUp: () => Unit)(work: => A): A = {
    val task = new FutureTask[A](() => work)
    val thread = new Thread(task, name)
    thread.start()
    var isInterrupted = false
    while (thread.isAlive)
      try
        if (isInterrupted) {
          giveUp()
          thread.join(AgainMs)
        } else thread.join()
      catch { case _: InterruptedException => isInterrupted = true }
    try task.get
    catch { case e: ExecutionException => throw e.getCause }
    finally if (isInterrupted) Thread.currentThread.interrupt()
  }
}
