package io.bucketstate.plugin.pages

import java.util.Locale

/** Figures for people, as Python's `units` has them. */
private[plugin] object Shown {
  private val Units = Seq("B", "KiB", "MiB", "GiB")

  def count(number: Long): String = String.format(Locale.ROOT, "%,d", number)

  def bytes(number: Long): String = {
    val (amount, unit) = Units.foldLeft((number.toDouble, "")) {
      case ((amount, ""), unit) => if (amount < 1024) (amount, unit) else (amount / 1024, "")
      case (found, _)           => found
    }
    unit match {
      case "B" => s"$number B"
      case ""  => String.format(Locale.ROOT, "%.1f TiB", amount)
      case _   => String.format(Locale.ROOT, "%.1f %s", amount, unit)
    }
  }

  def millis(nanos: Long): String = String.format(Locale.ROOT, "%.1f ms", nanos / 1e6)

  def seconds(number: Double): String = String.format(Locale.ROOT, "%.1f s", number)

  def share(part: Double, whole: Double): String =
    if (whole <= 0) "-" else String.format(Locale.ROOT, "%.1f %%", 100 * part / whole)

  /** A figure of an advice. */
  def figure(number: Double): String =
    if (number == math.rint(number) && math.abs(number) < 1e15) count(number.toLong)
    else String.format(Locale.ROOT, "%,.2f", number)

  def several(number: Int, one: String): String =
    if (number == 1) s"1 $one" else s"${count(number.toLong)} ${one}s"
}
