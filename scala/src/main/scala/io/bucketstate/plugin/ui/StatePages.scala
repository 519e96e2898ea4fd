package io.bucketstate.plugin.ui

import scala.xml.Node

import org.apache.spark.ui.bucketstate.{Asked, TabPage}
import org.slf4j.LoggerFactory

import io.bucketstate.plugin.pages.{QueriesPage, QueryPage}
import io.bucketstate.plugin.queries.{BoardView, Kept}

/** The pages of the tab, of a live application and of one that has ended. */
private[plugin] object StatePages {

  /** The tab's name, and its part of the address. */
  val Name = "State"

  private val log = LoggerFactory.getLogger("io.bucketstate.BucketstatePlugin")

  /** @param board asked for with each request */
  def of(board: () => BoardView): Seq[TabPage] = {
    val guard = new Guard(log, "A page of the tab State cannot be shown")
    def page(path: String)(content: (BoardView, Asked) => (String, Seq[Node])): TabPage =
      TabPage(
        path,
        asked =>
          guard.orElse[(String, Seq[Node])](
            (QueriesPage.Title, <p>This page cannot be shown; the driver's log says why.</p>)
          )(content(board(), asked))
      )
    Seq(
      page("")((view, asked) => (QueriesPage.Title, QueriesPage.of(view, asked.base))),
      page("query")((view, asked) =>
        QueryPage.of(view, asked.base, asked.parameter("run").getOrElse(""))
      )
    )
  }

  /** The board keeps as much as Spark's own page of streaming queries. */
  def kept(setting: (String, Int) => Int): Kept = Kept(
    setting("spark.sql.streaming.ui.retainedQueries", 100),
    setting("spark.sql.streaming.ui.retainedProgressUpdates", 100)
  )
}
