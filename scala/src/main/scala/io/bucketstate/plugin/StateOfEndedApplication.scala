package io.bucketstate.plugin

import org.apache.spark.SparkConf
import org.apache.spark.ui.bucketstate.{EndedApplication, Reader, TabPage}
import org.slf4j.LoggerFactory

import io.bucketstate.plugin.queries.{BoardJson, QueryBoard}
import io.bucketstate.plugin.ui.{Guard, QueryEvents, StatePages}

/**
 * The tab in the history server, which finds this class by its name in the jar. An application without state has no such
 * tab.
 */
final class StateOfEndedApplication extends EndedApplication {
  import StateOfEndedApplication._

  override protected def reader(conf: SparkConf, kept: Option[String]): Reader = {
    val board = new QueryBoard(StatePages.kept(conf.getInt))
    kept.foreach(text => board.restore(BoardJson.read(text)))
    Reader(
      new QueryEvents(board, isLog = true),
      () => Some(board.view).filter(_.queries.exists(_.hasState)).map(BoardJson.write)
    )
  }

  override protected def tab(kept: String): (String, Seq[TabPage]) = {
    lazy val board = BoardJson.read(kept)
    (StatePages.Name, StatePages.of(() => board))
  }

  override protected def harmless(part: => Unit): Unit = guard(part)
}

private object StateOfEndedApplication {

  /** A server reads the logs of many applications: the first that fails is told of. */
  private val guard = new Guard(
    LoggerFactory.getLogger(classOf[StateOfEndedApplication]),
    "The tab State is left out of the history server; its other tabs are there"
  )
}
