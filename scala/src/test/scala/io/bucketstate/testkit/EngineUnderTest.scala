package io.bucketstate.testkit

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
}
