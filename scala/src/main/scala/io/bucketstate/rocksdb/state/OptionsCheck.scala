package io.bucketstate.rocksdb.state

import scala.collection.mutable
import scala.util.Using

import io.bucketstate.config.RocksDbConfig
import io.bucketstate.rocksdb.NativeOptions

/**
 * Finds settings that no database can be made with before there is one: databases are made in the background, where what
 * is wrong with the settings would be told a batch later. Thread-safe.
 */
object OptionsCheck {
  private[this] val right = mutable.HashSet.empty[RocksDbConfig]

  // Nothing is cached or written with it.
  private val Limits = ExecutorNative.Limits(bytes = 1L << 20, bytesPerSecond = 1L << 20)

  /**
   * Makes native options of the settings, and closes them: once in this process for settings that are right, and each
   * time for others. No database is made, so what RocksDB refuses only when it opens one is not found, nor what a
   * factory does to other column families than the default one.
   *
   * Throws what [[NativeOptions]] does.
   */
  def require(config: RocksDbConfig): Unit = synchronized {
    if (!right(config)) {
      Using.resource(new ExecutorNative.Objects(Limits)) { shared =>
        Using.resource(new NativeOptions(config, shared))(_.family(DefaultFamily))
      }
      right += config
      ()
    }
  }

  /** Spark's name of the family that every store has. */
  private final val DefaultFamily = "default"
}
