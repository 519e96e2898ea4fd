package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state.StateStoreConf

import io.bucketstate.error.InvalidException

/** What Spark 4.2 has settings for, under the same names and with the same defaults. */
private[spark] final class SnapshotRepair(conf: StateStoreConf) {
  import SnapshotRepair._

  def enabled: Boolean =
    setting("enabled", "true or false", !isTesting)(_.toBooleanOption)

  def afterFailures: Int = count("numFailuresBeforeActivating", 1)

  def maxChangelogs: Int = count("maxChangeFileReplay", 500)

  private def count(name: String, default: Int): Int =
    setting(name, "a number from 1", default)(_.toIntOption.filter(_ > 0))

  private def setting[A](name: String, allowed: String, default: A)(parse: String => Option[A]): A =
    conf.sqlConfs.get(Prefix + name).fold(default) { value =>
      parse(value.trim).getOrElse {
        throw new InvalidException(s"$Prefix$name is '$value'", s"Set it to $allowed.")
      }
    }
}

private object SnapshotRepair {
  private val Prefix = "spark.sql.streaming.stateStore.autoSnapshotRepair."

  /** Whether Spark takes this for a test of its own: those are to fail if a snapshot is damaged. */
  private def isTesting: Boolean =
    sys.env.contains("SPARK_TESTING") || sys.props.contains("spark.testing")
}
