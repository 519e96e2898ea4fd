package io.bucketstate.background

import java.util.concurrent.{Executors, ScheduledExecutorService, TimeUnit}

import org.slf4j.LoggerFactory

/** Something that is done again and again on one daemon thread of its own, until it is stopped. Thread-safe. */
private[bucketstate] final class Repeated private (thread: ScheduledExecutorService) {

  /** It is not begun again; what is under way is interrupted. */
  def stop(): Unit = {
    thread.shutdownNow()
    ()
  }
}

private[bucketstate] object Repeated {
  private val log = LoggerFactory.getLogger(classOf[Repeated])

  /**
   * @param every nanoseconds from the end of one time to the next
   * @param work  handles its own failures: one that it throws is the last time, and is logged
   */
  def apply(name: String, every: Long)(work: () => Unit): Repeated = {
    val thread = Executors.newSingleThreadScheduledExecutor { (run: Runnable) =>
      val made = new Thread(run, name)
      made.setDaemon(true)
      made
    }
    val telling: Runnable = () =>
      try work()
      catch {
        case failure: Throwable =>
          // Nobody else would hear of it: the executor keeps it for whoever asks how the last time went.
          if (!thread.isShutdown) log.warn(s"$name has failed, and is not done again", failure)
          throw failure
      }
    thread.scheduleWithFixedDelay(telling, every, every, TimeUnit.NANOSECONDS)
    new Repeated(thread)
  }
}
