package org.apache.spark.ui.bucketstate

import java.util.ServiceLoader

import scala.jdk.CollectionConverters._

import org.apache.spark.scheduler.ReplayListenerBus
import org.apache.spark.status.{AppHistoryServerPlugin, AppStatusStore, ElementTrackingStore}
import org.apache.spark.ui.SparkUI
import org.apache.spark.util.kvstore.InMemoryStore
import org.apache.spark.{SecurityManager, SparkConf}

/**
 * What Spark's history server makes of an event log, as far as this project has a part in it.
 *
 * @param tabs names of all tabs
 * @param kept what the project's tab is made of
 */
final case class HistoryOfSpark(tabs: Seq[String], kept: Option[String])

object HistoryOfSpark {

  /** Reads the parts of a log one after the other, as a server does with one that grows. */
  def of(parts: Seq[String]*): HistoryOfSpark = {
    val conf = new SparkConf(false)
    val store = new InMemoryStore
    val plugins = ServiceLoader
      .load(classOf[AppHistoryServerPlugin])
      .asScala
      .filter(_.getClass.getName.startsWith("io.bucketstate"))
      .toSeq
    parts.foreach { lines =>
      val tracking = new ElementTrackingStore(store, conf)
      val bus = new ReplayListenerBus
      plugins.flatMap(_.createListeners(conf, tracking)).foreach(bus.addListener)
      assert(bus.replay(lines.iterator, "log", false, ReplayListenerBus.SELECT_ALL_FILTER))
      tracking.close(false)
    }
    val ui = SparkUI.create(
      None,
      new AppStatusStore(store, None, None),
      conf,
      new SecurityManager(conf),
      "application",
      "",
      0L
    )
    plugins.foreach(_.setupUI(ui))
    HistoryOfSpark(
      ui.getTabs.map(_.name),
      KeptText.textOf(store.view(classOf[KeptText]).iterator().asScala.toSeq)
    )
  }
}
