package io.bucketstate.testkit

import scala.util.Random

/**
 * How much of what takes long a suite tries: a few random histories and some of the cases with each `make test`, histories by
 * the thousand and all cases with `make sweep`.
 */
object Seeds {
  private val isSweep = sys.env.get("BUCKETSTATE_SWEEP").contains("all")
  private final val Sweep = 125

  def of(few: Int): Int = of(few, few * Sweep)

  /** @param many with `make sweep` */
  def of(few: Int, many: Int): Int = if (isSweep) many else few

  /** A test of a kind of which `make test` runs others. */
  def atNight(test: => Unit): Unit = if (isSweep) test

  /** One of so many cases, the same with each run; with `make sweep` all. */
  def oneOf[A](share: Int, cases: Seq[A], seed: Long): Seq[A] =
    if (isSweep) cases
    else {
      val random = new Random(seed)
      cases.grouped(share).map(some => some(random.nextInt(some.size))).toVector
    }
}
