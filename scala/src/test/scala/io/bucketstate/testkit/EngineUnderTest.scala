package io.bucketstate.testkit

import org.apache.spark.SparkException

import io.bucketstate.config.{ConfigKey, Engine}

/**
 * The engine that a run of the suites is about: the environment's `BUCKETSTATE_ENGINE`, or else the default. What holds
 * for one has to hold for the other, so the suites are the same.
 */
object EngineUnderTest {

  val name: String = sys.env.getOrElse("BUCKETSTATE_ENGINE", ConfigKey.Engine.default)

  /** Settings of every store, which a test may put its own over. */
  val settings: Seq[(String, String)] = Seq(ConfigKey.Engine.key -> name)

  val isRocksDb: Boolean = name == Engine.RocksDb.name

  /**
   * What opens a version to be written, once more where a local database needed a file that is gone. A reader that lives on
   * while its version is not kept any more holds the database back, and that costs a task: its retry begins from the
   * checkpoint.
   */
  def orRetry[A](open: => A): A =
    try open
    catch { case e: SparkException if isRocksDb && e.getMessage.contains("does not exist") => open }
}
