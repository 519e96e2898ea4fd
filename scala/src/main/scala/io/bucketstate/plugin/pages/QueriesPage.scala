package io.bucketstate.plugin.pages

import java.net.URLEncoder
import java.nio.charset.StandardCharsets.UTF_8

import scala.xml.{Node, NodeSeq}

import io.bucketstate.plugin.doctor.{Doctor, Restart}
import io.bucketstate.plugin.queries.{BoardView, ExecutorView, QueryView}

/** The first page: all queries that have state, and the memory of each executor. A function of what is known. */
private[plugin] object QueriesPage {
  val Title = "State of streaming queries"

  /** @param base the address of this page, without a slash behind it */
  def of(board: BoardView, base: String): Seq[Node] = {
    val (stateful, others) = board.queries.partition(_.hasState)
    val rows = stateful.reverse.map(query => Row(query, base))
    Style.node ++
      (if (rows.isEmpty) {
         <p>No query with state has run a batch yet.</p>
       } else {
         <div class="bucketstate-wide">{Table.of("Queries with state", columns, rows)}</div>
       }) ++
      (if (others.isEmpty) NodeSeq.Empty
       else {
         <p class="bucketstate-quiet">{
           s"Without state, or without a batch so far: ${Shown.several(others.size, "query run")}."
         }</p>
       }) ++
      (if (board.executors.isEmpty) NodeSeq.Empty
       else {
         <h4>Memory of each executor</h4> ++
           Table.of("Executors", executorColumns, board.executors)
       })
  }

  private final case class Row(query: QueryView, base: String) {
    private val statuses = query.stores.map(_.status)
    private def reported(name: String): Long =
      query.batches.lastOption.fold(0L)(_.operators.map(_(name)).sum)

    def link: String = s"$base/query/?run=${URLEncoder.encode(query.run, UTF_8)}"
    def keys: Long =
      if (statuses.isEmpty) reported("numRowsTotal") else statuses.map(_.keys).sum
    def memory: Long =
      if (statuses.isEmpty) reported("memoryUsedBytes") else statuses.map(_.memoryBytes).sum
    def lag: String = statuses.map(_.lag).maxOption.fold("-")(Shown.count)
    def restart: String =
      if (statuses.isEmpty) "-" else Shown.seconds(Restart.of(query.stores).seconds)
    def advice: Int = Doctor.of(query).advice.size
  }

  private val columns: Seq[Column[Row]] = Seq(
    Column.of("Query")(row => <a href={row.link}>{row.query.name}</a>),
    Column.text("Status")(row => Parts.status(row.query)),
    Column.text("Started")(_.query.started),
    Column.number("Batches")(row => Shown.count(row.query.seen)),
    Column.text("Operators")(_.query.operators.map(_.name).mkString(", ")),
    Column.number("Keys")(row => Shown.count(row.keys)),
    Column.number("Memory")(row => Shown.bytes(row.memory)),
    Column.number("Snapshot lag")(_.lag),
    Column.number("Restart")(_.restart),
    Column.number("Advice")(row => Shown.count(row.advice.toLong))
  )

  private val executorColumns: Seq[Column[ExecutorView]] = Seq(
    Column.text("Executor")(Parts.name),
    Column.number("Stores")(one => Shown.count(one.stores.toLong)),
    Column.of("State in memory")(Parts.memory),
    Column.number("Work that waits")(one => Shown.count(one.queued.toLong))
  )
}
