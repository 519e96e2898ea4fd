package io.bucketstate.plugin.pages

import scala.xml.{Node, NodeSeq}

import io.bucketstate.plugin.doctor.{Doctor, Restart}
import io.bucketstate.plugin.queries.{BoardView, ExecutorView, PlacedStore, QueryView}

/** The page of one query: advice, what a restart costs, its operators, its executors. A function of what is known. */
private[plugin] object QueryPage {

  /**
   * @param base the address of the first page, without a slash behind it
   * @param run  that was asked for
   */
  def of(board: BoardView, base: String, run: String): (String, Seq[Node]) =
    board.queries.find(_.run == run) match {
      case Some(query) => (s"State of ${query.name}", Style.node ++ whole(board, base, query))
      case None        =>
        (
          QueriesPage.Title,
          <p>There is no run {run}, or it ended so long ago that it is not kept.</p> ++ back(base)
        )
    }

  private def whole(board: BoardView, base: String, query: QueryView): NodeSeq =
    back(base) ++ summary(query) ++
      <h4>What helps</h4> ++ Parts.diagnosis(Doctor.of(query)) ++
      restart(query) ++ executors(board, query) ++
      query.operators.flatMap(operator => OperatorPart.of(query, operator))

  private def back(base: String): Node = <p><a href={s"$base/"}>All queries</a></p>

  private def summary(query: QueryView): NodeSeq = <ul class="list-unstyled">
      <li><strong>Run: </strong>{query.run}</li>
      <li><strong>Query: </strong>{query.id}</li>
      <li><strong>Status: </strong>{Parts.status(query)}{
    query.end.flatMap(_.failure).fold("")(failure => s": $failure")
  }</li>
      <li><strong>Started: </strong>{query.started}</li>
      <li><strong>Batches: </strong>{Shown.count(query.seen)}{
    query.batches.lastOption.fold("")(b => s", the last one ${b.id} at ${b.timestamp}")
  }</li>
    </ul>

  private def restart(query: QueryView): NodeSeq =
    if (query.stores.isEmpty) NodeSeq.Empty
    else {
      val cost = Restart.of(query.stores)
      <h4>A restart now</h4> ++
        <p>{
          s"It replays ${Shown.count(cost.changelogs)} changelogs with about ${Shown.count(cost.updates)} updates, and " +
            s"reads ${Shown.bytes(cost.bytes)} of the checkpoint at most: changelogs at once, data files where a key is " +
            s"asked for. The first batch of a new executor in the place of the one with most of it takes about " +
            s"${Shown.seconds(cost.seconds)}, as bucketstate size estimates."
        }</p>
    }

  private def executors(board: BoardView, query: QueryView): NodeSeq = {
    val its = query.stores.groupBy(_.executor)
    val rows = board.executors.flatMap(one => its.get(one.executor).map(one -> _))
    if (rows.isEmpty) NodeSeq.Empty
    else {
      <h4>Memory of each executor</h4> ++
        Table.of("Executors with stores of this query", executorColumns, rows)
    }
  }

  private val executorColumns: Seq[Column[(ExecutorView, Vector[PlacedStore])]] = Seq(
    Column.text("Executor")(row => Parts.name(row._1)),
    Column.number("Stores of the query")(row => Shown.count(row._2.size.toLong)),
    Column.number("Keys")(row => Shown.count(sum(row._2)(_.status.keys))),
    Column.number("Memory of the query")(row => Shown.bytes(sum(row._2)(_.status.memoryBytes))),
    Column.of("All state in memory")(row => Parts.memory(row._1))
  )

  private def sum(stores: Seq[PlacedStore])(figure: PlacedStore => Long): Long =
    stores.map(figure).sum
}
