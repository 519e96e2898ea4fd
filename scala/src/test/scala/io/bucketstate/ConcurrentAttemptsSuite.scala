package io.bucketstate

import java.util.concurrent.{CountDownLatch, TimeUnit}

import org.apache.spark.sql.execution.streaming.state.{
  ReadStateStore,
  StateStore,
  StateStoreProvider
}
import org.apache.spark.{SparkException, SparkThrowable}
import org.scalatest.Outcome

import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{ConflictException, UnavailableException}
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{CallFault, ShortMemory, TidySuite}

class ConcurrentAttemptsSuite extends ConcurrentAttempts(Nil, isShort = false)

/** Whatever can leave memory has left it when the next attempt comes. */
class EvictedAttemptsSuite
    extends ConcurrentAttempts(ConcurrentAttempts.SnapshotOfEach, isShort = true)

class AgeingAttemptsSuite
    extends ConcurrentAttempts(
      ConcurrentAttempts.SnapshotOfEach :+ (ConfigKey.TimeBucketExpireAfter.key -> "7d"),
      isShort = true
    )

/** Two attempts that both believe that the store is theirs: on one executor, and on two. */
abstract class ConcurrentAttempts(settings: Seq[(String, String)], isShort: Boolean)
    extends TidySuite {

  override protected def withFixture(test: NoArgTest): Outcome =
    ShortMemory.when(isShort)(super.withFixture(test))

  private val timeout = "spark.sql.streaming.stateStore.bucketed.lockAcquireTimeout"

  /** What a task writes to that has read from `reader`. */
  private def openedAfter(provider: StateStoreProvider, reader: ReadStateStore): StateStore =
    ours(provider).upgradeReadStoreToWriteStore(reader, 2, None, forceSnapshotOnCommit = false)

  private def condition(error: Throwable): String = error.asInstanceOf[SparkThrowable].getCondition

  test(
    "when another executor's attempt won, memory is dropped and the retry reads the winner's file"
  ) {
    withHarness(settings) { harness =>
      val (mine, other) = (harness.provider(), harness.provider())
      batch(mine, 0)((1L, "a") -> (1L, "shared"))()
      batch(mine, 1)((2L, "b") -> (2L, "mine"))()
      batch(other, 1)((2L, "b") -> (2L, "theirs"), (3L, "c") -> (3L, "theirs"))()

      val stale = mine.getStore(2)
      stale.put(key(9, "z"), value(9, "lost"))
      val error = intercept[SparkException](stale.commit())
      assert(condition(error) == "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT")
      assert(error.getCause.isInstanceOf[ConflictException])
      assert(!java.nio.file.Files.exists(harness.file("3.changelog")), "nothing was published")
      stale.abort()

      val retry = mine.getStore(2)
      assert(valueOf(retry.get(key(2, "b"))) == (2L, "theirs"))
      assert(retry.get(key(9, "z")) == null)
      assert(retry.commit() == 3)
      assert(retry.metrics.numKeys == 3)
      mine.close()
      other.close()
    }
  }

  test(
    "a retry waits for the attempt that still holds the store, and then sees none of its changes"
  ) {
    withHarness(settings) { harness =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "one"))()
      val zombie = provider.getStore(1)
      zombie.put(key(2, "b"), value(2, "zombie"))
      val opened = new CountDownLatch(1)
      @volatile var retry: StateStore = null
      val thread = new Thread(() => {
        retry = provider.getStore(1)
        opened.countDown()
      })
      thread.start()
      assert(!opened.await(200, TimeUnit.MILLISECONDS), "the store was handed out twice")
      zombie.abort()
      assert(opened.await(30, TimeUnit.SECONDS))
      assert(retry.get(key(2, "b")) == null)
      assert(retry.commit() == 2)
      val late = intercept[Exception](zombie.put(key(2, "b"), value(2, "late")))
      assert(condition(late) == "STATE_STORE_INVALID_STAMP")
      provider.close()
    }
  }

  test(
    "waiting for a store has a time limit and ends with the error class of Spark's RocksDB provider"
  ) {
    withHarness(settings) { harness =>
      val provider = harness.provider(timeout -> "50")
      val holder = provider.getStore(0)
      val error = intercept[SparkException](provider.getStore(0))
      assert(condition(error) == "CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR")
      assert(error.getMessage.contains(s"[ThreadId: ${Thread.currentThread().getId}]"))
      val closing = intercept[SparkException](provider.close())
      assert(condition(closing) == "CANNOT_LOAD_STATE_STORE.UNRELEASED_THREAD_ERROR")
      holder.abort()
      provider.close()
      provider.close() // again is no error
    }
  }

  test("a closed provider hands out nothing") {
    withHarness(settings) { harness =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "one"))()
      provider.close()
      val calls: Seq[() => Any] =
        Seq(
          () => provider.getStore(1),
          () => provider.getReadStore(1),
          () => provider.doMaintenance()
        )
      calls.foreach { call =>
        assert(
          condition(intercept[Exception](call())) == "STATE_STORE_INVALID_STATE_MACHINE_TRANSITION"
        )
      }
    }
  }

  test("a reader keeps its version while a retry replaces it") {
    withHarness(settings) { harness =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "one"))()
      batch(provider, 1)((1L, "a") -> (1L, "first attempt"))()
      val reader = provider.getReadStore(2)
      batch(provider, 1)((1L, "a") -> (1L, "second attempt"))()
      assert(valueOf(reader.get(key(1, "a"))) == (1L, "first attempt"))
      assert(valueOf(provider.getReadStore(2).get(key(1, "a"))) == (1L, "second attempt"))
      ours(reader).release()
      provider.close()
    }
  }

  test(
    "a commit that cannot be written leaves nothing, and the retry starts from the same version"
  ) {
    withHarness(settings) { harness =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "one"))()
      // A folder in the way of the file: the rename fails.
      val inTheWay = harness.file("2.changelog")
      java.nio.file.Files.createDirectories(inTheWay.resolve("x"))
      val store = provider.getStore(1)
      store.put(key(2, "b"), value(2, "two"))
      val error = intercept[SparkException](store.commit())
      assert(condition(error) == "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT")
      store.abort()
      deleteAll(inTheWay)
      val retry = provider.getStore(1)
      assert(retry.get(key(2, "b")) == null)
      retry.put(key(3, "c"), value(3, "three"))
      assert(retry.commit() == 2)
      assert(contents(provider.getReadStore(2)).keySet == Set((1L, "a"), (3L, "c")))
      provider.close()
    }
  }

  test("a task never writes on top of another attempt than it has read from memory") {
    withHarness(settings) { harness =>
      val (mine, other) = (harness.provider(), harness.provider())
      batch(mine, 0)((1L, "a") -> (1L, "shared"))()
      batch(mine, 1)((2L, "b") -> (2L, "mine"))()
      val reader = mine.getReadStore(2)
      assert(valueOf(reader.get(key(2, "b"))) == (2L, "mine"))
      batch(other, 1)((2L, "b") -> (2L, "theirs"))()
      other.close()

      // Spark unloaded the provider in between, and made another one for the same task.
      val fresh = harness.provider()
      val error = intercept[ConflictException](openedAfter(fresh, reader))
      assert(error.getMessage.contains("was read as commit"))
      ours(reader).release()

      val again = fresh.getReadStore(2)
      assert(valueOf(again.get(key(2, "b"))) == (2L, "theirs"))
      val store = openedAfter(fresh, again)
      store.put(key(3, "c"), value(3, "on top"))
      assert(store.commit() == 3)
      ours(again).release()
      mine.close()
      fresh.close()
    }
  }

  test("the same when memory was dropped because of a conflict") {
    withHarness(settings) { harness =>
      val (mine, other) = (harness.provider(), harness.provider())
      batch(mine, 0)((1L, "a") -> (1L, "shared"))()
      batch(mine, 1)((2L, "b") -> (2L, "mine"))()
      val reader = mine.getReadStore(2)
      batch(other, 1)((2L, "b") -> (2L, "theirs"))()
      val zombie = mine.getStore(2)
      intercept[SparkException](zombie.commit())
      zombie.abort()
      assertThrows[ConflictException](openedAfter(mine, reader))
      ours(reader).release()
      mine.close()
      other.close()
    }
  }

  test("a check that cannot be made fails the task, and memory stays") {
    withFaults(settings) { (harness, script) =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "one"))()
      script.failNext("open 1.changelog", CallFault.Throws)
      val store = provider.getStore(1)
      store.put(key(2, "b"), value(2, "two"))
      val error = intercept[SparkException](store.commit())
      assert(error.getCause.isInstanceOf[UnavailableException])
      store.abort()
      val retry = provider.getStore(1)
      retry.put(key(2, "b"), value(2, "two"))
      assert(retry.commit() == 2)
      assert(figures(retry)("bucketedTableReloads") == 0, "memory was of no fault")
      provider.close()
    }
  }
}

private object ConcurrentAttempts {
  val SnapshotOfEach: Seq[(String, String)] =
    Seq(ConfigKey.SnapshotMode.key -> "sync", ConfigKey.SnapshotMaxVersions.key -> "1")
}
