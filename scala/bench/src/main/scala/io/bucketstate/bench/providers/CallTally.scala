package io.bucketstate.bench
package providers

/** File-system calls of all threads between `begin` and `end`, averaged over the rounds between. */
final class CallTally {
  private var rounds = 0
  private var before = Map.empty[String, Long]
  private var total = Map.empty[String, Long].withDefaultValue(0L)

  def begin(): Unit = before = CountedFileSystem.counts()

  def end(): Unit = {
    for ((call, count) <- CountedFileSystem.counts())
      total = total.updated(call, total(call) + count - before(call))
    rounds += 1
  }

  def perRound: Map[String, Double] =
    total.map { case (call, count) => call -> count.toDouble / math.max(rounds, 1) }
}
