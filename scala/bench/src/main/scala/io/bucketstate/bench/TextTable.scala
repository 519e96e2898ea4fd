package io.bucketstate.bench

/** Aligned plain text that is also a Markdown table: words to the left, numbers to the right. */
final case class TextTable(title: String, header: Seq[String], rows: Seq[Seq[String]]) {
  def render: String = {
    val widths = header.indices.map(c => (header +: rows).map(_(c).length).max)
    val words = header.indices.map(c => rows.exists(_(c).exists(_.isLetter)))
    def line(cells: Seq[String]): String = cells.indices
      .map { c =>
        if (words(c)) cells(c).padTo(widths(c), ' ')
        else " " * (widths(c) - cells(c).length) + cells(c)
      }
      .mkString("| ", " | ", " |")
    val rule = header.indices
      .map(c => if (words(c)) "-" * widths(c) else "-" * (widths(c) - 1) + ":")
      .mkString("| ", " | ", " |")
    (Seq(title, "", line(header), rule) ++ rows.map(line)).mkString("\n")
  }
}
