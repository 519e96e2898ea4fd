package io.bucketstate.checkpoint.changelog

/**
 * Decides which blocks of one changelog are worth compressing. Blocks of a batch are alike: where one did
 * not shrink by a fifth, the next ones are stored as they are, and only some are tried, ever fewer. The
 * task waits for the compression (some hundred MB/s), so less than that is not worth its time even where the
 * file goes to an object store. What is decided depends on the blocks alone. For one thread.
 */
private[changelog] final class CompressionWorth {
  import CompressionWorth._

  private[this] var untried = 0 // blocks to come that are stored as they are
  private[this] var pause = 0 // how many there were after the last one that was tried

  def reset(): Unit = {
    untried = 0
    pause = 0
  }

  /** Whether to compress the next block. */
  def isTried(): Boolean = {
    val tried = untried == 0
    if (!tried) untried -= 1
    tried
  }

  /** How long the block that was tried is to be stored: compressed, or its raw length. */
  def of(compressed: Int, length: Int): Int =
    if (compressed <= length - length / Least) {
      pause = 0
      compressed
    } else {
      pause = Math.min(2 * pause + 1, MostUntried)
      untried = pause
      length
    }
}

private object CompressionWorth {

  /** A block must shrink by one in so many bytes. */
  private final val Least = 5
  private final val MostUntried = 15
}
