package io.bucketstate.move

/** The order of the columns in a key of `dropDuplicates`. */
private[move] object KeyOrder {

  /** Whether it is that in which they are given: else five columns and more are ordered by their hashes. */
  val IsAsGiven = false
}
