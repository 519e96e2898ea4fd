package org.apache.spark.ui.bucketstate

import scala.xml.Node

import jakarta.servlet.http.HttpServletRequest
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.SparkListenerEvent
import org.apache.spark.ui.{SparkUI, SparkUITab, UIUtils, WebUIPage}

/** What is asked of a page: the address of its tab, without a slash behind it, and the parameters. */
final case class Asked(base: String, parameter: String => Option[String])

/**
 * One page of a tab.
 *
 * @param path    below the tab's; empty for its first page
 * @param content title and body; asked for with each request, by the web server's threads
 */
final case class TabPage(path: String, content: Asked => (String, Seq[Node]))

/** Tabs of Spark's web UI, which are private to Spark. */
object SparkTab {

  /** Puts a tab into the web UI of a running application; false if it has none. */
  def attach(context: SparkContext, name: String, pages: Seq[TabPage]): Boolean = {
    context.ui.foreach(attach(_, name, pages))
    context.ui.isDefined
  }

  private[bucketstate] def attach(ui: SparkUI, name: String, pages: Seq[TabPage]): Unit =
    ui.attachTab(new Tab(ui, name, pages))

  /** Gives an event to all listeners of the application, among them the one that writes its log. */
  def post(context: SparkContext, event: SparkListenerEvent): Unit =
    context.listenerBus.post(event)

  /** Behind Spark's own tab of streaming queries. */
  final val Order = 3

  private final class Tab(ui: SparkUI, called: String, shown: Seq[TabPage])
      extends SparkUITab(ui, called) {
    shown.foreach(page => attachPage(new Page(this, page)))

    override def displayOrder: Int = Order
  }

  private final class Page(tab: Tab, page: TabPage) extends WebUIPage(page.path) {
    override def render(request: HttpServletRequest): Seq[Node] = {
      val base = UIUtils.prependBaseUri(request, tab.basePath, s"/${tab.prefix}")
      val (title, body) = page.content(Asked(base, name => Option(request.getParameter(name))))
      UIUtils.headerSparkPage(request, title, body, tab)
    }
  }
}
