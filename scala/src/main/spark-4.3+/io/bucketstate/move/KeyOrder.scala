package io.bucketstate.move

/** The order of the columns in a key of `dropDuplicates`. */
private[move] object KeyOrder {

  /** Whether it is that in which they are given; Spark keeps to the other order where a checkpoint has it. */
  val IsAsGiven = true
}
