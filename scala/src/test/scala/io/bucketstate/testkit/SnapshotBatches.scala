package io.bucketstate.testkit

import java.nio.file.Path

import org.apache.spark.sql.execution.streaming.state.StateStoreProvider
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.checkpoint.io.{Attempt, ManifestName, NioFileStore}
import io.bucketstate.checkpoint.manifest.Manifests
import io.bucketstate.testkit.ProviderHarness._

/**
 * Batches that change some keys each, with a snapshot after every second one, and what lies in the folder
 * then.
 */
trait SnapshotBatches extends Eventually {
  type Model = Map[(Long, String), (Long, String)]

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(20, Millis))

  protected def spark(settings: (String, String)*): Seq[(String, String)] =
    settings.map { case (k, v) => s"spark.sql.streaming.$k" -> v }

  protected val inCommit: Seq[(String, String)] = spark(
    "stateStore.bucketed.snapshot.mode" -> "sync",
    "stateStore.bucketed.snapshot.maxVersions" -> "2",
    "stateStore.bucketed.compaction.maxRuns" -> "3",
    "minBatchesToRetain" -> "2",
    "ratioExtraSpaceAllowedInCheckpoint" -> "0"
  )

  /** Batch n changes some keys and removes one; returns the state after each version. */
  protected def run(provider: StateStoreProvider, from: Int, until: Int, start: Model): Seq[Model] =
    (from until until).scanLeft(start) { (model, n) =>
      val puts = (0 until 30).map { i =>
        val k = ((n * 7 + i) % 50L, s"key ${(n * 11 + i) % 40}")
        k -> (n.toLong, "v" * (20 + i))
      }
      val gone = model.keys.toSeq.sorted.take(1)
      batch(provider, n.toLong)(puts: _*)(gone: _*)
      (model ++ puts) -- gone
    }

  /** What a version holds for a provider that starts anew. */
  protected def restarted(
      harness: ProviderHarness,
      settings: Seq[(String, String)],
      version: Long
  ): Model = {
    val provider = harness.provider(settings: _*)
    try contents(provider.getReadStore(version))
    finally provider.close()
  }

  protected def files(harness: ProviderHarness, ending: String): Seq[Path] =
    FaultyFileManager.filesUnder(harness.storeFolder).filter(_.toString.endsWith(ending))

  protected def manifests(harness: ProviderHarness): Seq[Long] =
    files(harness, ".manifest").map(_.getFileName.toString.takeWhile(_.isDigit).toLong).sorted

  /** The data files that a version's manifest needs. */
  protected def runsOf(harness: ProviderHarness, version: Long): Set[Path] = {
    val store = new NioFileStore(harness.storeFolder)
    new Manifests(store).read(ManifestName(Attempt(version))).fileNames.map(harness.file)
  }
}
