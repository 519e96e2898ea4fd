package org.apache.spark.ui.bucketstate

import com.fasterxml.jackson.annotation.JsonIgnore
import org.apache.spark.SparkConf
import org.apache.spark.scheduler.SparkListener
import org.apache.spark.status.{AppHistoryServerPlugin, ElementTrackingStore}
import org.apache.spark.ui.SparkUI
import org.apache.spark.util.kvstore.{KVIndex, KVStore}

/** A listener of an application's events, and what is to be kept of them as a text once all were read. */
final case class Reader(listener: SparkListener, kept: () => Option[String])

/**
 * A tab of the history server for an application whose event log it reads, which is private to Spark. What fails in it
 * leaves the other tabs as they are.
 */
abstract class EndedApplication extends AppHistoryServerPlugin {

  /**
   * Makes a reader of one log.
   *
   * @param kept what an earlier one has kept, if it goes on from there
   */
  protected def reader(conf: SparkConf, kept: Option[String]): Reader

  /** The tab's name and pages of what was kept. */
  protected def tab(kept: String): (String, Seq[TabPage])

  /** Runs a part of it, whose failure is nobody else's. */
  protected def harmless(part: => Unit): Unit

  final override def createListeners(
      conf: SparkConf,
      store: ElementTrackingStore
  ): Seq[SparkListener] = {
    var found = Option.empty[SparkListener]
    harmless {
      val made = reader(conf, keptIn(store))
      store.onFlush(harmless(made.kept().foreach(text => store.write(new KeptText(text)))))
      found = Some(made.listener)
    }
    found.toSeq
  }

  final override def setupUI(ui: SparkUI): Unit = harmless {
    keptIn(ui.store.store).foreach { text =>
      val (name, pages) = tab(text)
      SparkTab.attach(ui, name, pages)
    }
  }

  private def keptIn(store: KVStore): Option[String] = {
    val found = store.view(classOf[KeptText]).closeableIterator()
    try if (found.hasNext) Some(found.next().text) else None
    finally found.close()
  }

  override def displayOrder: Int = SparkTab.Order
}

/** The text under its one key in Spark's store of an application. */
final class KeptText(val text: String) {
  @JsonIgnore @KVIndex
  def id: String = "bucketstate"
}
