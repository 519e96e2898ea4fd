package org.apache.spark.ui.bucketstate

import scala.jdk.CollectionConverters._

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
      store.onFlush(harmless(made.kept().foreach(keep(store, _))))
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

  private def keptIn(store: KVStore): Option[String] = KeptText.textOf(piecesIn(store))

  private def piecesIn(store: KVStore): Seq[KeptText] = {
    val found = store.view(classOf[KeptText]).closeableIterator()
    try found.asScala.toVector
    finally found.close()
  }

  private def keep(store: KVStore, text: String): Unit = {
    val pieces = KeptText.of(text)
    // An earlier text may have been longer.
    piecesIn(store)
      .filter(_.piece >= pieces.size)
      .foreach(old => store.delete(classOf[KeptText], old.id))
    pieces.foreach(store.write(_))
  }

  override def displayOrder: Int = SparkTab.Order
}

/**
 * A piece of the text in Spark's store of an application. The store on disk has each as a string in JSON, and reads none of
 * more than 20 million characters.
 *
 * @param piece its number, from 0 on
 */
final class KeptText(val text: String, val piece: Int) {

  /** The key. That of the first piece is what the whole text had, when it was not cut yet. */
  @JsonIgnore @KVIndex
  def id: String = if (piece == 0) "bucketstate" else s"bucketstate-$piece"
}

private[bucketstate] object KeptText {

  /** Characters of a piece. */
  final val Longest = 1000000

  /** Cuts a text, but no character of it that is two of Java's: a half of one cannot be written. */
  def of(text: String): Seq[KeptText] = {
    val cuts = Iterator
      .iterate(0) { from =>
        val until = from + Longest
        if (until < text.length && Character.isHighSurrogate(text(until - 1))) until - 1 else until
      }
      .takeWhile(from => from == 0 || from < text.length)
      .toVector
    cuts.zip(cuts.drop(1) :+ text.length).zipWithIndex.map { case ((from, until), n) =>
      new KeptText(text.substring(from, until), n)
    }
  }

  /** The text of all pieces in any order; None without any. */
  def textOf(pieces: Seq[KeptText]): Option[String] =
    Option.when(pieces.nonEmpty)(pieces.sortBy(_.piece).map(_.text).mkString)
}
