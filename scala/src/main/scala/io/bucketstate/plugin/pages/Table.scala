package io.bucketstate.plugin.pages

import scala.xml.{Node, NodeSeq, Text}

/**
 * A column of a table.
 *
 * @param isNumber whether its cells stand to the right
 */
private[pages] final case class Column[A](title: String, isNumber: Boolean, cell: A => NodeSeq)

private[pages] object Column {
  def text[A](title: String)(cell: A => String): Column[A] =
    Column(title, isNumber = false, row => Text(cell(row)))

  def number[A](title: String)(cell: A => String): Column[A] =
    Column(title, isNumber = true, row => Text(cell(row)))

  def of[A](title: String)(cell: A => NodeSeq): Column[A] = Column(title, isNumber = false, cell)
}

/** Tables in the look of Spark's. */
private[pages] object Table {

  /** @param caption what the table is, for everybody who cannot see where it stands */
  def of[A](caption: String, columns: Seq[Column[A]], rows: Seq[A]): Node =
    <table class="table table-bordered table-sm table-striped bucketstate" aria-label={caption}>
      <thead><tr>{
      columns.map(column => <th scope="col" class={classOf(column)}>{column.title}</th>)
    }</tr></thead>
      <tbody>{
      rows.map(row =>
        <tr>{
          columns.map(column => <td class={classOf(column)}>{column.cell(row)}</td>)
        }</tr>
      )
    }</tbody>
    </table>

  private def classOf(column: Column[_]): String = if (column.isNumber) "number" else "text"
}
