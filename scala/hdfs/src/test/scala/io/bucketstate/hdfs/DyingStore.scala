package io.bucketstate.hdfs

import java.nio.file.Paths

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider

import io.bucketstate.checkpoint.io.FileManagers
import io.bucketstate.config.ConfigKey
import io.bucketstate.testkit.ProviderHarness
import io.bucketstate.testkit.ProviderHarness.batch

/** Commits versions until it dies of writing a file: `URI FOLDER PATTERN`; prints each version when it is committed. */
object DyingStore {

  private val Batches = 200L

  def main(arguments: Array[String]): Unit = {
    val Seq(uri, folder, pattern) = arguments.toSeq: @unchecked
    val harness = harnessAt(
      uri,
      folder,
      FileManagers.Setting -> classOf[HaltingFileManager].getName,
      HaltingFileManager.Setting -> pattern
    )
    val provider = harness.provider(Settings: _*)
    for (version <- 0L until Batches) {
      write(provider, version)
      Console.out.print(s"COMMITTED ${version + 1}\n")
      Console.out.flush()
      provider.doMaintenance()
    }
  }

  val Settings: Seq[(String, String)] = Seq(ConfigKey.SnapshotMaxVersions.key -> "2")

  def harnessAt(uri: String, folder: String, hadoop: (String, String)*): ProviderHarness =
    new ProviderHarness(
      Paths.get(folder),
      hadoop = (conf: Configuration) => {
        conf.addResource(new Configuration)
        (MiniHdfs.clientSettings ++ hadoop).foreach { case (key, value) => conf.set(key, value) }
      },
      root = uri
    )

  /** Of each version one key of its own, and one that all change. */
  def write(provider: StateStoreProvider, version: Long): Unit = {
    batch(provider, version)(
      (version, "own") -> (version -> "x" * 1000),
      (0L, "all") -> (version -> "y")
    )()
    ()
  }

  def expected(version: Long): Map[(Long, String), (Long, String)] =
    (0L until version).map(v => (v, "own") -> (v -> "x" * 1000)).toMap +
      ((0L, "all") -> ((version - 1) -> "y"))
}
