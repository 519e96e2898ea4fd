package io.bucketstate.plugin.doctor

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode

/**
 * Terms of the doctor's rules over the figures of one thing: numbers, and lists of a word and what it is about. Python's
 * `doctor/terms.py` evaluates the same ones.
 *
 * @param figures what a word comes to, given the names behind it; None where there is no such figure
 */
private[doctor] final class Terms(figures: PartialFunction[Seq[String], Option[Double]]) {
  import Terms._

  /** None where a figure in the term is not there. */
  def value(term: JsonNode): Option[Double] =
    if (!term.isArray) Some(term.asDouble)
    else {
      val (word, rest) = split(term)
      arithmetic(word) match {
        case None            => figures(word +: rest.map(_.asText))
        case Some(operation) => both(rest)(operation)
      }
    }

  /** Whether all of the conditions hold; one about a figure that is not there does not. */
  def hold(conditions: Seq[JsonNode]): Boolean = conditions.forall { condition =>
    val (word, rest) = split(condition)
    both(rest)(comparison(word)).contains(true)
  }

  private def both[A](terms: Seq[JsonNode])(combine: (Double, Double) => A): Option[A] =
    for {
      left <- value(terms.head)
      right <- value(terms(1))
    } yield combine(left, right)
}

private object Terms {
  private def arithmetic(word: String): Option[(Double, Double) => Double] = word match {
    case "+"      => Some(_ + _)
    case "-"      => Some(_ - _)
    case "*"      => Some(_ * _)
    case "/"      => Some(_ / _)
    case "larger" => Some(math.max(_, _))
    case _        => None
  }

  private def comparison(word: String): (Double, Double) => Boolean = word match {
    case ">"  => _ > _
    case ">=" => _ >= _
    case "<"  => _ < _
    case "="  => _ == _
  }

  private def split(list: JsonNode): (String, Seq[JsonNode]) = {
    val all = list.elements.asScala.toVector
    (all.head.asText, all.tail)
  }
}
