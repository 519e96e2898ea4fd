package io.bucketstate.bench

/** Sizes as people write them. */
object Keys {
  def show(count: Int): String =
    if (count % 1000000 == 0) s"${count / 1000000}m"
    else if (count % 1000 == 0) s"${count / 1000}k"
    else count.toString
}
