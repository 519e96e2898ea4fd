package io.bucketstate.plugin.pages

import scala.xml.{Node, XML}

import io.bucketstate.plugin.queries._
import io.bucketstate.testkit.TidySuite

/** The pages of the tab as HTML: well formed, with every text escaped, and bounded. */
class PagesSuite extends TidySuite {
  import PagesSuite._

  private val stores = (0 until 8).map(p => Boards.store(p, keys = if (p == 3) 500L else 100L))

  test("the first page has each query with state once, the newest first") {
    val queries = Vector(
      Boards.query(stores, name = "older", run = "1"),
      Boards
        .query(Nil, Seq(Boards.batch(0, isOurs = false)), name = "on another provider", run = "2"),
      Boards.query(Nil, Nil, name = "without state", run = "3")
    )
    val page = parsed(QueriesPage.of(board(queries), "/State"))
    assert((page \\ "a").map(_.text) == Seq("on another provider", "older"))
    assert((page \\ "a").map(_ \@ "href") == Seq("/State/query/?run=2", "/State/query/?run=1"))
    assert(page.text.contains("Without state, or without a batch so far: 1 query run."))
    val rows = (page \\ "tr").map(row => (row \ "td").map(_.text))
    assert(
      rows.exists(_.containsSlice(Seq("dedupe", "1,200", "11.7 KiB", "2", "0.1 s", "0"))),
      rows
    )
    assert(rows.exists(_.containsSlice(Seq("dedupe", "1,000", "2.0 KiB", "-", "-", "0"))), rows)
    assert(page.text.contains("6.0 MiB of 10.0 MiB (60.0 %)"))
  }

  test("nothing has run yet") {
    assert(parsed(QueriesPage.of(BoardView.Empty, "")).text.contains("No query with state"))
    val (_, page) = QueryPage.of(BoardView.Empty, "", "<i>none</i>")
    assert(parsed(page).text.contains("There is no run <i>none</i>"))
  }

  test("a query's page says in words what its pictures show") {
    val (title, page) = QueryPage.of(board(Vector(Boards.query(stores))), "/x/State", "run")
    assert(title == "State of counts")
    val html = parsed(page)
    val pictures = (html \\ "svg").map(_ \@ "aria-label")
    assert(pictures.head == "Keys: Partition 3 has 500, 5 times the median of the others, 100.")
    assert(pictures.size == 6)
    assert((html \\ "svg").forall(svg => (svg \ "rect").size == 8 && (svg \@ "role") == "img"))
    assert((html \\ "title").exists(_.text == "Partition 3: 500"))
    assert(
      html.text.contains("It replays 16 changelogs with about 160 updates, and reads 31.3 KiB")
    )
    assert(
      (html \\ "summary").map(_.text) == Seq(
        "All 8 stores",
        "Files and bytes by version, the newest 10"
      )
    )
    assert((html \\ "a").head \@ "href" == "/x/State/")
  }

  test("of another provider the page shows what it can") {
    val query = Boards.query(Nil, (0L to 3L).map(Boards.batch(_, isOurs = false)))
    val html = parsed(QueryPage.of(board(Vector(query)), "", "run")._2)
    assert(html.text.contains("1,000 rows, 2.0 KiB in memory"))
    assert(html.text.contains("Its provider tells no more than that."))
    assert(html.text.contains("operator 0 (dedupe): its state is not in bucketstate."))
    assert((html \\ "svg").isEmpty)
  }

  test("names that are HTML are shown as they are") {
    val bad = "<script>alert(1)</script>\"'&amp;\u0001"
    val its = Boards.store(0, executor = bad, name = bad)
    val query = Boards
      .query(Seq(its), Seq(Boards.batch(0, bad), Boards.batch(1, bad)), name = bad, run = bad)
      .copy(id = bad, started = bad, end = Some(QueryEnd(Some(bad))))
    val view = BoardView(
      Vector(query),
      Vector(ExecutorView(bad, 1, 2, 0, 1, isLost = true))
    )
    for (page <- Seq(QueriesPage.of(view, ""), QueryPage.of(view, "", bad)._2)) {
      assert(!text(page).contains("<script"))
      assert(parsed(page).text.contains("<script>alert(1)</script>\"'&amp;"))
    }
    val link = parsed(QueriesPage.of(view, "")) \\ "a" \@ "href"
    assert(link.startsWith("/query/?run=%3Cscript%3E"))
  }

  test("a large query has a bounded page") {
    val many = (0 until 5000).map(p => Boards.store(p, keys = p.toLong))
    val page = QueryPage.of(board(Vector(Boards.query(many))), "", "run")._2
    val html = parsed(page)
    assert((html \\ "svg").forall(svg => (svg \ "rect").size == 2000))
    assert(html.text.contains("Shown are the 2,000 of 5,000 partitions with most."))
    assert((html \\ "summary").head.text == "The 500 of 5,000 stores with most keys")
    assert(text(page).length < 4 * 1000 * 1000)
  }

  test("figures are as bucketstate's commands show them") {
    assert(
      Seq(0L, 1023L, 1024L, 1536L << 20, 5L << 40)
        .map(Shown.bytes) == Seq("0 B", "1023 B", "1.0 KiB", "1.5 GiB", "5.0 TiB")
    )
    assert(
      Shown.count(1234567) == "1,234,567" && Shown.share(1, 3) == "33.3 %" && Shown.share(
        1,
        0
      ) == "-"
    )
  }

  test("what a picture says of few and of equal partitions") {
    def said(values: Double*) =
      HeatMap("x", values.zipWithIndex.map(_.swap), v => Shown.count(v.toLong)).finding
    assert(said(0, 0) == "It is 0 in every partition.")
    assert(said(7) == "The only partition has 7.")
    assert(said(0, 9, 0) == "Partition 1 has 9, most others have none.")
    assert(said(10, 11, 10) == "It is even: no partition has more than 11.")
  }

  test("what is even is drawn half dark, and what stands out darkest") {
    def drawn(values: Double*): Seq[String] =
      (HeatMap("x", values.zipWithIndex.map(_.swap), _.toString).node \\ "rect")
        .map(_ \@ "fill-opacity")
    assert(drawn(7, 7, 7) == Seq("0.53", "0.53", "0.53"))
    assert(drawn(7) == Seq("0.53"))
    assert(drawn(0, 0) == Seq("0.06", "0.06"))
    assert(drawn(10, 10, 40) == Seq("0.30", "0.30", "1.00"))
  }
}

private object PagesSuite {
  private def board(queries: Vector[QueryView]): BoardView =
    BoardView(queries, Vector(ExecutorView("1", 6L << 20, 10L << 20, 1, 8, isLost = false)))

  private def text(page: Seq[Node]): String = page.map(_.toString).mkString("<body>", "", "</body>")

  /** Read by a parser that forgives nothing. */
  private def parsed(page: Seq[Node]): Node = XML.loadString(text(page))
}
