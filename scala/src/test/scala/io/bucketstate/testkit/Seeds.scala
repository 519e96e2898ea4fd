package io.bucketstate.testkit

/** How many random histories a suite runs: few with each `make test`, by the thousand with `make sweep`. */
object Seeds {
  private val isSweep = sys.env.get("BUCKETSTATE_SWEEP").contains("all")
  private final val Sweep = 125

  def of(few: Int): Int = of(few, few * Sweep)

  /** @param many with `make sweep` */
  def of(few: Int, many: Int): Int = if (isSweep) many else few
}
