package io.bucketstate.spark

import java.util.{Collections, WeakHashMap}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.apache.spark.sql.execution.streaming.state.SparkInternals
import org.slf4j.LoggerFactory

/** What is told when Spark stops in this process. */
private[spark] trait EndsWithSession {

  /** For messages. */
  def name: String

  def sessionEnded(): Unit
}

/**
 * Tells stores in the driver's process (a local Spark: notebooks, tests) that Spark stops. Spark itself
 * leaves them loaded then, with their memory, files and folders, until another session's maintenance
 * finds them, which may be never. Executors of their own need none of this: their process ends.
 * Thread-safe.
 */
private[spark] object SessionEnd {
  private val log = LoggerFactory.getLogger(getClass)
  private var listening: Option[(SparkContext, Listener)] = None

  /** `store.sessionEnded()` is called once, on a thread of its own, unless it was forgotten before. */
  def tell(store: EndsWithSession): Unit =
    SparkInternals.activeContext.filterNot(_.isStopped).foreach(listenerOf(_).add(store))

  def forget(store: EndsWithSession): Unit =
    synchronized(listening).foreach { case (_, listener) => listener.remove(store) }

  private def listenerOf(context: SparkContext): Listener = synchronized {
    listening.collect { case (`context`, listener) => listener }.getOrElse {
      val listener = new Listener
      context.addSparkListener(listener)
      listening = Some(context -> listener)
      listener
    }
  }

  private final class Listener extends SparkListener {
    private[this] val stores = Collections.newSetFromMap(
      new WeakHashMap[EndsWithSession, java.lang.Boolean]
    )

    def add(store: EndsWithSession): Unit = synchronized {
      stores.add(store)
      ()
    }

    def remove(store: EndsWithSession): Unit = synchronized {
      stores.remove(store)
      ()
    }

    // A store waits for the task that writes it, which Spark kills only after this.
    override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = {
      val left = synchronized(stores.asScala.toSeq)
      if (left.nonEmpty) {
        val closer = new Thread(() => left.foreach(close), "bucketstate-session-end")
        closer.setDaemon(true)
        closer.start()
      }
    }

    private def close(store: EndsWithSession): Unit =
      try store.sessionEnded()
      catch {
        case NonFatal(e) => log.warn(s"${store.name} could not be closed when Spark stopped", e)
      }
  }
}
