package io.bucketstate.plugin

import java.net.URI
import java.util.{Collections, Map => JMap}

import com.codahale.metrics.Gauge
import org.apache.spark.api.plugin.{DriverPlugin, PluginContext}
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent, SparkListenerExecutorRemoved}
import org.apache.spark.sql.streaming.StreamingQueryListener.{
  QueryStartedEvent,
  QueryTerminatedEvent
}
import org.apache.spark.ui.bucketstate.WebUi
import org.apache.spark.{SparkConf, SparkContext}
import org.slf4j.LoggerFactory

import io.bucketstate.background.Ticker
import io.bucketstate.plugin.status.{KnownQueries, StatusJson}
import io.bucketstate.plugin.ui.Guard

/**
 * The plugin on the driver: it turns the provider on before a session is made, and gathers what the executors
 * tell. Whatever goes wrong in it, the application goes on.
 *
 * @param misfit why the jar is of no use to the Spark that runs; None where it is of use
 */
private[plugin] final class DriverSide(turnOn: TurnedOn, misfit: Option[String])
    extends DriverPlugin {
  import DriverSide._

  // There is none where a setting is wrong; no executor tells anything then.
  @volatile private[this] var board = Option.empty[DriverBoard]
  @volatile private[this] var tab = Option.empty[StateTab]

  override def init(context: SparkContext, plugin: PluginContext): JMap[String, String] = {
    Harmless("the part that turns the provider on") {
      // Not the copy that `getConf` gives: what sessions are made with.
      val set = turnOn(plugin.conf)
      log.info(s"bucketstate is turned on: ${set.map { case (k, v) => s"$k=$v" }.mkString(", ")}")
    }
    // Without the provider a query would run on another, and its checkpoint with it.
    misfit.foreach(why => log.error(s"$why Until then no query runs that keeps its state here."))
    if (misfit.isEmpty) gather(context, plugin.conf)
    Collections.emptyMap()
  }

  private def gather(context: SparkContext, conf: SparkConf): Unit =
    Harmless("the driver's part") {
      val settings = PluginSettings.read(conf)
      val gathered =
        new DriverBoard(() => Ticker.System.nanos, settings.series, settings.intervalMs)
      board = Some(gathered)
      context.addSparkListener(new Listener(gathered))
      if (settings.hasTab) {
        Harmless("the tab State") { tab = StateTab.begin(context, settings) }
      }
      def text = new PrometheusText(context.applicationId)(gathered)
      WebUi
        .attachText(context, Folder, Page, PrometheusText.ContentType, () => text)
        .ifPresent(url => tellWhere(url, conf.getInt("spark.ui.port", UsualPort)))
    }

  override def registerMetrics(applicationId: String, plugin: PluginContext): Unit =
    Harmless("the driver's metrics") {
      plugin.metricRegistry.gauge(
        "executors",
        () =>
          new Gauge[Int] {
            override def getValue: Int = board.fold(0)(_.executors.size)
          }
      )
      ()
    }

  override def receive(message: AnyRef): AnyRef = {
    val status = StatusJson.readStatus(message.toString)
    tab.foreach(_.told(status))
    StatusJson.write(board.fold(NoQueries)(_.update(status)))
  }

  override def shutdown(): Unit = {
    tab.foreach { shown =>
      Harmless("the last report in the event log") {
        shown.ending(ExecutorSide.here)
        shown.end()
      }
    }
    ExecutorSide.leave()
  }
}

private[plugin] object DriverSide {
  private val log = LoggerFactory.getLogger(classOf[DriverSide])

  private val NoQueries = KnownQueries(Map.empty, Set.empty, hasPartitions = false)

  private val Folder = "/bucketstate"
  private val Page = "/metrics"

  /** Where Spark's web UI has the metrics. */
  val Path: String = Folder + Page

  /** Spark's, of its web UI. */
  private final val UsualPort = 4040

  /** A scrape target that was written for the port that was asked for would be another application's. */
  private def tellWhere(url: String, asked: Int): Unit = {
    val is = URI.create(url)
    // Any port will do where 0 is asked for, and HTTPS has a setting of its own.
    val hasMoved = asked > 0 && is.getScheme == "http" && is.getPort > 0 && is.getPort != asked
    if (hasMoved) {
      log.warn(
        s"Port $asked was taken, so Spark's web UI has another one. Metrics of all state stores for Prometheus: " +
          s"$url. Give this application a spark.ui.port that it has to itself, and scrape that one."
      )
    } else log.info(s"Metrics of all state stores for Prometheus: $url")
  }

  /** Called by one thread, that of Spark's listeners. */
  private final class Listener(board: DriverBoard) extends SparkListener {
    private[this] val guard = new Guard(log, "Metrics of bucketstate lack what some events told")

    override def onOtherEvent(event: SparkListenerEvent): Unit = guard(take(event))

    override def onExecutorRemoved(event: SparkListenerExecutorRemoved): Unit =
      guard(board.removed(event.executorId))

    private def take(event: SparkListenerEvent): Unit = event match {
      case start: QueryStartedEvent =>
        val id = start.id.toString
        val name = Option(start.name).filter(_.nonEmpty).getOrElse(id)
        board.began(RunningQuery(start.runId.toString, id, name))
      case end: QueryTerminatedEvent => board.ended(end.runId.toString)
      case _                         => ()
    }
  }
}
