package io.bucketstate

import java.nio.file.{Files, Path, Paths}

import org.apache.spark.sql.execution.streaming.state.StateStoreProvider

import io.bucketstate.checkpoint.io.{CheckpointFiles, VersionedFile}
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{ProviderHarness, TidySuite}

/** A provider finds the savepoints of its query beside the folder of all state. */
class HeldBatchesSuite extends TidySuite {
  private val golden = "nightly.2026.11.5d6e7f80-9a1b-4c2d-8e3f-4a5b6c7d8e9f.json" // of batch 0
  private val settings = Seq(
    "spark.sql.streaming.minBatchesToRetain" -> "2",
    "spark.sql.streaming.ratioExtraSpaceAllowedInCheckpoint" -> "0",
    "spark.sql.streaming.stateStore.bucketed.snapshot.mode" -> "sync",
    "spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions" -> "3",
    "spark.sql.streaming.stateStore.bucketed.restore.mode" -> "eager"
  )

  private def grow(provider: StateStoreProvider, versions: Range): Unit = versions.foreach { n =>
    batch(provider, n.toLong)((n.toLong, "k") -> (n.toLong, "v"))()
    provider.doMaintenance()
  }

  private def versions(harness: ProviderHarness): Set[Long] =
    harness.storeFolder.toFile.list.toSeq
      .flatMap(CheckpointFiles.parse)
      .collect { case file: VersionedFile =>
        file.version
      }
      .toSet

  private def put(folder: Path, name: String): Path = {
    val target = folder.resolve("_bucketstate/savepoints").resolve(name)
    Files.createDirectories(target.getParent)
    Files.copy(Paths.get("tests/golden/v1/savepoints").resolve(golden), target)
  }

  test("what a savepoint holds can be read after restarts, until it is dropped") {
    withFolder { folder =>
      val harness = new ProviderHarness(folder.resolve("state"))
      val first = harness.provider(settings: _*)
      grow(first, 0 until 1)
      val savepoint = put(folder, golden)
      grow(first, 1 until 12)
      first.close()
      val second = harness.provider(settings: _*)
      grow(second, 12 until 24)
      assert(versions(harness).min == 1 && !versions(harness).exists(v => v > 3 && v < 18))
      val read = second.getReadStore(1)
      assert(contents(read) == Map((0L, "k") -> (0L, "v")))
      read.abort()
      Files.delete(savepoint)
      grow(second, 24 until 26)
      assert(versions(harness).min > 18)
      second.close()
    }
  }

  test("nothing is deleted while a file may be a savepoint and cannot be read") {
    withFolder { folder =>
      val harness = new ProviderHarness(folder.resolve("state"))
      val stray = put(folder, "stray.json")
      val provider = harness.provider(settings: _*)
      grow(provider, 0 until 12)
      assert(versions(harness) == (1L to 12L).toSet)
      Files.delete(stray)
      grow(provider, 12 until 13)
      assert(versions(harness).min > 6)
      provider.close()
    }
  }
}
