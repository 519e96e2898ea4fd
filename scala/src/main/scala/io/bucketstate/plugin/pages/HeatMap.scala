package io.bucketstate.plugin.pages

import java.util.Locale

import scala.xml.Node

import io.bucketstate.plugin.doctor.Median

/**
 * One figure of every partition as a picture: a square each, the darker the more. A sentence says what it shows, and
 * each square its own figure.
 *
 * @param title  what is shown
 * @param values by partition
 * @param shown  a value for people
 */
private[pages] final case class HeatMap(
    title: String,
    values: Seq[(Int, Double)],
    shown: Double => String
) {
  import HeatMap._

  /** What the picture shows, without it. */
  def finding: String = {
    val (worst, most) = values.maxBy(_._2)
    Median.of(values.collect { case (partition, value) if partition != worst => value }) match {
      case _ if most == 0 => "It is 0 in every partition."
      case None           => s"The only partition has ${shown(most)}."
      case Some(0.0)      => s"Partition $worst has ${shown(most)}, most others have none."
      case Some(m) if most > m * Even =>
        s"Partition $worst has ${shown(most)}, ${Shown.figure(most / m)} times the median of the others, ${shown(m)}."
      case Some(_) => s"It is even: no partition has more than ${shown(most)}."
    }
  }

  def node: Node =
    <figure class="bucketstate-map">
      <figcaption><strong>{title}</strong>. {finding}{tooMany}</figcaption>
      <svg role="img" aria-label={s"$title: $finding"} width={width.toString} height={
      height.toString
    } viewBox={s"0 0 $width $height"}>{
      drawn.zipWithIndex.map { case ((partition, value), at) => square(partition, value, at) }
    }</svg>
    </figure>

  private def square(partition: Int, value: Double, at: Int): Node =
    <rect x={(at % inRow * Step).toString} y={(at / inRow * Step).toString} width={
      Size.toString
    } height={Size.toString} rx="2" fill-opacity={opacity(value)}><title>{
      s"Partition $partition: ${shown(value)}"
    }</title></rect>

  private def opacity(value: Double): String = {
    val share = if (darkest <= 0) 0.0 else value / darkest
    String.format(Locale.ROOT, "%.2f", Least + (1 - Least) * share)
  }

  /** What is even is drawn half dark: the darkest squares are for what stands out. */
  private lazy val darkest: Double = {
    val all = values.map(_._2)
    math.max(all.max, Median.of(all).fold(0.0)(_ * 2))
  }

  private lazy val drawn: Seq[(Int, Double)] =
    if (values.size <= Most) values.sortBy(_._1)
    else values.sortBy(-_._2).take(Most).sortBy(_._1)

  private def tooMany: String =
    if (values.size <= Most) ""
    else
      s" Shown are the ${Shown.count(Most.toLong)} of ${Shown.count(values.size.toLong)} partitions with most."

  private def inRow: Int = InRow
  private def width: Int = math.min(drawn.size, inRow) * Step
  private def height: Int = (drawn.size + inRow - 1) / inRow * Step
}

private object HeatMap {
  private final val Size = 16
  private final val Step = Size + 2
  private final val InRow = 50

  /** More squares than that are no picture any more. */
  private final val Most = 2000

  /** A partition with nothing can still be seen. */
  private final val Least = 0.06

  /** Up to so much above the median, partitions are called even. */
  private final val Even = 1.5
}
