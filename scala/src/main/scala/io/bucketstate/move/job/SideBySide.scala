package io.bucketstate.move.job

import java.util.concurrent.{Callable, ExecutionException, Executors, TimeUnit}

import scala.jdk.CollectionConverters._

/** Several things at a time, each of which waits for something else most of the time. */
private[move] object SideBySide {
  private final val Most = 8

  /** In the order of what is given. Throws what went wrong first, as it was, when all have ended. */
  def each[A, B](all: Seq[A])(body: A => B): Seq[B] = {
    val pool = Executors.newFixedThreadPool(math.min(Most, math.max(1, all.size)))
    try
      pool
        .invokeAll(all.map(one => (() => body(one)): Callable[B]).asJava)
        .asScala
        .map { done =>
          try done.get
          catch { case e: ExecutionException => throw e.getCause }
        }
        .toSeq
    finally {
      pool.shutdownNow()
      pool.awaitTermination(1, TimeUnit.MINUTES)
      ()
    }
  }
}
