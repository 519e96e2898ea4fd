package io.bucketstate

import org.apache.spark.sql.execution.streaming.state.StateStoreProvider

import io.bucketstate.checkpoint.changelog.ChangelogReader
import io.bucketstate.checkpoint.io.{Attempt, ManifestName, NioFileStore}
import io.bucketstate.checkpoint.manifest.{BucketCount, Manifests}
import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{CorruptException, InvalidException}
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{MemoryFileStore, ProviderHarness, TidySuite}

/** What the checkpoint says of the number of buckets counts, unless a session says otherwise. */
class BucketCountSuite extends TidySuite {
  private val Key = ConfigKey.NumBuckets.key
  private val Default = ConfigKey.NumBuckets.default.toInt

  private def numberIn(harness: ProviderHarness, attempt: Attempt): Int =
    ChangelogReader.readHeader(new NioFileStore(harness.storeFolder), attempt).numBuckets

  private def read(provider: StateStoreProvider, version: Long, id: Option[String]) = {
    val store = provider.getReadStore(version, id)
    try contents(store)
    finally ours(store).release()
  }

  /** Three versions in 7 buckets, with a manifest if that is wanted; the ids. */
  private def grown(
      harness: ProviderHarness,
      settings: Seq[(String, String)],
      snapshot: Boolean
  ): Seq[Option[String]] = {
    val provider = harness.provider(settings :+ (Key -> "7"): _*)
    val ids = (0 until 3).foldLeft(Seq(Option.empty[String])) { (ids, n) =>
      val store = ours(provider)
        .getStore(n.toLong, ids.last, forceSnapshotOnCommit = snapshot && n == 1, loadEmpty = false)
      (1 to 20).foreach(k => store.put(key(k.toLong, s"$n"), value(n.toLong, "v")))
      store.commit()
      ids :+ store.getStateStoreCheckpointInfo().stateStoreCkptId
    }
    provider.close()
    ids
  }

  for {
    (kind, settings) <- Seq("format 1" -> Nil, "format 2" -> Seq(Format2))
    snapshot <- Seq(false, true)
  } {
    val what = s"$kind, with a manifest: $snapshot"

    test(s"a session that does not set it goes on with the checkpoint's, $what") {
      withHarness { harness =>
        val ids = grown(harness, settings, snapshot)
        val provider = harness.provider(settings: _*)
        assert(read(provider, 3, ids(3)).size == 60)
        assert(read(provider, 1, ids(1)).size == 20)
        val four = attempt(provider, 3, ids(3))((1L, "four") -> (1L, "v"))((1L, "0"))
        assert(numberIn(harness, Attempt(4, four.stateStoreCkptId)) == 7)
        provider.close()
        val again = harness.provider(settings: _*)
        assert(read(again, 4, four.stateStoreCkptId).size == 60)
        again.close()
      }
    }

    test(s"so does a state by way of an older one, $what") {
      withHarness { harness =>
        val ids = grown(harness, settings, snapshot)
        val provider = harness.provider(settings: _*)
        val replayed =
          ours(provider).replayReadStateFromSnapshot(2, 3, ids(2), ids(3))
        assert(contents(replayed).size == 60)
        replayed.abort()
        provider.close()
      }
    }

    test(s"one that sets it otherwise is told both numbers, $what") {
      withHarness { harness =>
        val ids = grown(harness, settings, snapshot)
        val provider = harness.provider(settings :+ (Key -> "8"): _*)
        val error = intercept[Exception](provider.getStore(3, ids(3)))
        assert(Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).exists {
          case e: InvalidException =>
            Seq(s"$Key=7, it is now 8", "or remove the setting", "move rewrite CHECKPOINT")
              .forall(e.getMessage.contains(_))
          case _ => false
        })
        provider.close()
      }
    }

    test(s"a version that is written on an empty store takes the checkpoint's, $what") {
      withHarness { harness =>
        grown(harness, settings, snapshot)
        val provider = harness.provider(settings: _*)
        val store =
          ours(provider).getStore(9, None, forceSnapshotOnCommit = false, loadEmpty = true)
        store.put(key(1, "a"), value(1, "v"))
        store.commit()
        val id = store.getStateStoreCheckpointInfo().stateStoreCkptId
        provider.close()
        val file = ManifestName(Attempt(10, id))
        val manifest = new Manifests(new NioFileStore(harness.storeFolder)).read(file)
        assert(manifest.numBuckets == 7)
        val other = harness.provider(settings :+ (Key -> "8"): _*)
        assertThrows[Exception](
          ours(other).getStore(9, None, forceSnapshotOnCommit = false, loadEmpty = true)
        )
        other.close()
      }
    }
  }

  for (way <- Seq("reads", "writes"))
    test(s"a session that does not set it $way version 0 where version 1 was not committed") {
      withHarness { harness =>
        val first = harness.provider(Key -> "7")
        batch(first, 0)((1L, "a") -> (1L, "v"))()
        first.close()
        val provider = harness.provider()
        if (way == "reads") assert(read(provider, 0, None).isEmpty)
        else ours(provider).getStore(0).abort()
        batch(provider, 0)((1L, "b") -> (1L, "v"))()
        batch(provider, 1)((1L, "c") -> (1L, "v"))()
        assert(read(provider, 2, None).size == 2)
        provider.close()
        assert(numberIn(harness, Attempt(1)) == 7 && numberIn(harness, Attempt(2)) == 7)
      }
    }

  test("a new checkpoint has what is set, or else the default") {
    for ((settings, expected) <- Seq(Seq(Key -> "7") -> 7, Nil -> Default)) withHarness { harness =>
      val provider = harness.provider(settings: _*)
      batch(provider, 0)((1L, "a") -> (1L, "v"))()
      provider.close()
      assert(numberIn(harness, Attempt(1)) == expected)
    }
  }

  test("once it is decided, a file that says otherwise is of another store") {
    val count = new BucketCount(None, 64, new MemoryFileStore)
    count.require("1.changelog", 7, "xxh64")
    assert(count.assigner.numBuckets == 7)
    assert(intercept[InvalidException](count.require("2.changelog", 8, "xxh64")).changed.isDefined)
    assertThrows[InvalidException](count.require("3.changelog", 7, "other"))
  }

  test("a number that can be none is damage, whoever made its checksum") {
    for (number <- Seq(0, -1, 65537, Int.MaxValue)) {
      val count = new BucketCount(None, 64, new MemoryFileStore)
      assert(
        intercept[CorruptException](
          count.require("1.changelog", number, "xxh64")
        ).file == "1.changelog"
      )
      assert(count.assigner.numBuckets == 64)
    }
  }
}
