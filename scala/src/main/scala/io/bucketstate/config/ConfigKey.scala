package io.bucketstate.config

/** What values a setting takes; `describe` completes the sentence "must be ...". */
sealed trait ConfigType {
  def name: String
  def describe: String
}

object ConfigType {

  /** A whole number between two bounds, both included. */
  final case class IntRange(min: Int, max: Int) extends ConfigType {
    override def name: String = "int"
    override def describe: String = s"a whole number from $min to $max"
  }

  /** A time in milliseconds as a whole number. */
  final case class Millis(min: Long, max: Long) extends ConfigType {
    override def name: String = "millis"
    override def describe: String = s"a whole number of milliseconds from $min to $max"
  }

  /** One of a few words. */
  final case class OneOf(values: Seq[String]) extends ConfigType {
    override def name: String = "enum"
    override def describe: String = values match {
      case Seq(only) => s"'$only'"
      case _         => values.map(v => s"'$v'").mkString("one of ", ", ", "")
    }
  }
}

/**
 * One setting of the provider.
 *
 * @param name    the part behind [[ConfigKey.Prefix]]
 * @param default as a user would write it
 * @param doc     one or two sentences: what it does, its unit, when to change it
 */
final case class ConfigKey(name: String, kind: ConfigType, default: String, doc: String) {
  def key: String = ConfigKey.Prefix + name
}

/**
 * The registry of settings: the one place that defines them. Python's `Conf`, the documentation and
 * `conf/` are generated from it or checked against it.
 */
object ConfigKey {

  /** Spark ships only keys below `spark.sql.streaming.stateStore.` to the executors. */
  val Prefix = "spark.sql.streaming.stateStore.bucketed."

  val Engine: ConfigKey = ConfigKey(
    "engine",
    ConfigType.OneOf(Seq("heap")),
    "heap",
    "What holds the state while a query runs: 'heap' keeps it as compact bytes in the JVM's heap."
  )

  val NumBuckets: ConfigKey = ConfigKey(
    "numBuckets",
    ConfigType.IntRange(1, 32768),
    "64",
    "Key groups per store. Fixed for the life of a checkpoint: a different value on restart is an error."
  )

  val LockAcquireTimeout: ConfigKey = ConfigKey(
    "lockAcquireTimeout",
    ConfigType.Millis(1, 24L * 3600 * 1000),
    "60000",
    "How long a task waits, in milliseconds, for another task (a killed attempt that still runs) " +
      "to let go of the store before it fails."
  )

  val all: Seq[ConfigKey] = Seq(Engine, NumBuckets, LockAcquireTimeout)
}
