package io.bucketstate.spark

import java.lang.ref.WeakReference
import java.util.Map.{Entry => JEntry}
import java.util.{LinkedHashMap => JLinkedHashMap, UUID}

import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{
  SparkListener,
  SparkListenerEvent,
  SparkListenerStageSubmitted,
  SparkListenerTaskEnd
}
import org.apache.spark.sql.execution.streaming.state.{SparkCoordinator, SparkInternals}
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryTerminatedEvent
import org.slf4j.LoggerFactory

/**
 * Takes stores out of Spark's list of those in use that tasks put there after the end of their query's run.
 *
 * Spark's coordinator forgets the stores of a run once, as the run ends, and nobody waits for the tasks that are cut
 * off. A store that one of them opens after that is in use for the coordinator, for ever: with its memory and open
 * files it stays loaded until its process ends. So the coordinator is made to forget them again after each such task;
 * Spark's maintenance unloads them then. A task tells of its stores before its end is told, and the coordinator takes
 * one message after the other.
 *
 * Called by one thread, that of Spark's listeners.
 */
private[spark] final class EndedRuns(forget: UUID => Unit) extends SparkListener {
  import EndedRuns._

  private[this] val stages = new Latest[Int, String](MostStages)
  private[this] val ended = new Latest[String, UUID](MostRuns)

  override def onStageSubmitted(event: SparkListenerStageSubmitted): Unit =
    for {
      properties <- Option(event.properties)
      run <- Option(properties.getProperty(SparkInternals.RunOfJob))
    } stages.add(event.stageInfo.stageId, run)

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case end: QueryTerminatedEvent =>
      ended.add(end.runId.toString, end.runId)
      // For tasks that ended between Spark's own message and this event.
      forget(end.runId)
    case _ => ()
  }

  override def onTaskEnd(event: SparkListenerTaskEnd): Unit =
    stages.get(event.stageId).flatMap(ended.get).foreach(forget)
}

private[bucketstate] object EndedRuns {
  private val log = LoggerFactory.getLogger(classOf[EndedRuns])
  private var watched = new WeakReference[SparkContext](null)

  /** A task that so many stages and runs came after is not waited for. */
  private final val MostStages = 10000
  private final val MostRuns = 1000

  /** From now on, if this is the driver's process. May be called again and again. */
  def watch(): Unit = SparkInternals.activeContext.filterNot(_.isStopped).foreach { context =>
    synchronized {
      if (watched.get ne context) {
        context.addSparkListener(new EndedRuns(forget))
        watched = new WeakReference(context)
      }
    }
  }

  private def forget(run: UUID): Unit =
    try SparkCoordinator.deactivate(run)
    catch {
      case NonFatal(e) => log.info(s"Could not tell Spark's coordinator that run $run has ended", e)
    }

  /** The last ones that were added. */
  private final class Latest[A, B](most: Int) {
    private[this] val entries = new JLinkedHashMap[A, B] {
      override def removeEldestEntry(eldest: JEntry[A, B]): Boolean = size > most
    }

    def add(key: A, value: B): Unit = {
      entries.put(key, value)
      ()
    }

    def get(key: A): Option[B] = Option(entries.get(key))
  }
}
