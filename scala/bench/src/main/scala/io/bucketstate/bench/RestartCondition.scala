package io.bucketstate.bench

/** What a restart's JVM has done before the clock starts, beside what [[restart.RestartProbe]] always does. */
sealed abstract class RestartCondition(val name: String, val words: String)

object RestartCondition {

  /** Nothing: the most that any restart can meet. */
  case object Bare extends RestartCondition("bare", "bare JVM")

  /** A local Spark has run a batch query with a shuffle: what a task finds that opens the first store. */
  case object InSpark extends RestartCondition("spark", "in a Spark application")

  /** The same with this project's plugin, whose warm-up has had the time that Spark took. */
  case object WithPlugin
      extends RestartCondition("plugin", "in a Spark application with the plugin")

  val all: Seq[RestartCondition] = Seq(Bare, InSpark, WithPlugin)

  def named(name: String): RestartCondition = all.find(_.name == name).getOrElse {
    throw new IllegalArgumentException(
      s"there is no JVM '$name': one of ${all.map(_.name).mkString(", ")}"
    )
  }
}
