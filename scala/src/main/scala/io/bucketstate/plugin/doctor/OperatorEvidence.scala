package io.bucketstate.plugin.doctor

import io.bucketstate.plugin.queries.Batch

/**
 * Batches of one operator, in their order, without the first of their run: what rules may ask of them, in the words of
 * Python's `doctor/evidence.py`.
 */
private[doctor] final class OperatorEvidence(val batches: Seq[Batch], number: Int) {
  import OperatorEvidence._

  def isOurs: Boolean = batches.exists(_.operators(number).isOurs)

  val terms: Terms = new Terms({
    case "total" +: names              => Some(names.map(each(_).sum).sum)
    case Seq("last", name)             => each(name).lastOption
    case Seq("first", name)            => each(name).headOption
    case Seq("phase", name)            => Some(phase(name))
    case Seq("batches")                => Some(batches.size.toDouble)
    case Seq("batches with", name)     => Some(each(name).count(_ != 0).toDouble)
    case Seq("rising", name)           => Some(if (rises(each(name))) 1.0 else 0.0)
    case Seq("first quarter", name, p) => Some(mean(each(name, p).take(quarter)))
    case Seq("last quarter", name, p)  => Some(mean(each(name, p).takeRight(quarter)))
    case Seq("watermarked")            => Some(if (batches.exists(_.isWatermarked)) 1.0 else 0.0)
    case Seq("operator")               => Some(number.toDouble)
  })

  private def each(name: String): Seq[Double] = batches.map(_.operators(number)(name).toDouble)

  /** One for each of another figure. */
  private def each(name: String, per: String): Seq[Double] =
    each(name).zip(each(per)).map { case (n, m) => n / math.max(1.0, m) }

  private def phase(name: String): Double =
    batches.iterator.map(_.phases.getOrElse(name, 0L)).sum.toDouble

  private def quarter: Int = math.max(1, batches.size / 4)
}

private object OperatorEvidence {
  private def mean(numbers: Seq[Double]): Double = numbers.sum / math.max(1, numbers.size)

  /** Whether nearly every value is above the one before. */
  private def rises(values: Seq[Double]): Boolean = {
    val steps = values.zip(values.drop(1)).map { case (before, after) => after > before }
    steps.nonEmpty && steps.count(identity) >= 0.9 * steps.size
  }
}
