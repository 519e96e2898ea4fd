package io.bucketstate.config

import org.apache.commons.text.similarity.LevenshteinDistance

/** What somebody may have meant who wrote something that is not known. Pure. */
object Nearest {

  /** The known word that fewest changes of a character lead to; the first of several. `known` is not empty. */
  def of(word: String, known: Seq[String]): String = known.minBy(distance(word, _))

  /** How many characters have to be changed, added or removed. */
  def distance(one: String, other: String): Int =
    LevenshteinDistance.getDefaultInstance.apply(one, other).intValue
}
