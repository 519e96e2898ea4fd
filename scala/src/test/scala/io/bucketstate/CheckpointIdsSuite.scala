package io.bucketstate

import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.error._
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{ProviderHarness, TidySuite}

/** Checkpoint format 2: each attempt at a version has an id and a file of its own. */
class CheckpointIdsSuite extends TidySuite {
  private val missing = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE"
  private val damaged = "CANNOT_LOAD_STATE_STORE.CANNOT_READ_STREAMING_STATE_FILE"

  private def condition(error: Throwable): String = error.asInstanceOf[SparkThrowable].getCondition

  private def put(n: Long, text: String) = (n, s"k$n") -> (n, text)

  private def texts(store: ReadStateStore): Map[Long, String] = {
    val found = contents(store).map { case ((n, _), (_, text)) => n -> text }
    store.abort()
    found
  }

  private def changelogs(harness: ProviderHarness): Set[String] = {
    val files = Files.list(harness.storeFolder)
    try files.iterator.asScala.map(_.getFileName.toString).filter(_.endsWith("changelog")).toSet
    finally files.close()
  }

  /** Two providers of one store, as two executors have them. */
  private def withTwo(
      body: (ProviderHarness, StateStoreProvider, StateStoreProvider) => Unit
  ): Unit = withHarness { harness =>
    val (one, two) = (harness.provider(Format2), harness.provider(Format2))
    try body(harness, one, two)
    finally {
      one.close()
      two.close()
    }
  }

  test("each commit has a new id, its base is what was opened, and the file is named after it") {
    withTwo { (harness, provider, _) =>
      val first = attempt(provider, 0, None)(put(1, "a"))()
      val second = attempt(provider, 1, first.stateStoreCkptId)(put(2, "b"))()
      assert(first.batchVersion == 1 && first.baseStateStoreCkptId.isEmpty)
      assert(second.batchVersion == 2 && second.baseStateStoreCkptId == first.stateStoreCkptId)
      assert(first.stateStoreCkptId != second.stateStoreCkptId)
      val names = Seq(first, second).map(i => s"${i.batchVersion}_${i.stateStoreCkptId.get}")
      assert(changelogs(harness) == names.map(_ + ".changelog").toSet)
    }
  }

  test("there is no id before the commit") {
    withTwo { (_, provider, _) =>
      val store = provider.getStore(0, None)
      val early = intercept[Exception](store.getStateStoreCheckpointInfo())
      assert(condition(early) == "STATE_STORE_OPERATION_OUT_OF_ORDER")
      store.abort()
    }
  }

  test("of two executors' attempts the one whose id is asked for counts, also after a restart") {
    withTwo { (harness, one, two) =>
      val first = attempt(one, 0, None)(put(1, "shared"))().stateStoreCkptId
      val lost = attempt(one, 1, first)(put(2, "lost"))().stateStoreCkptId
      val won = attempt(two, 1, first)(put(2, "won"))().stateStoreCkptId
      val next = attempt(one, 2, won)(put(3, "next"))()
      assert(next.baseStateStoreCkptId == won)
      val expected = Map(1L -> "shared", 2L -> "won", 3L -> "next")
      assert(texts(one.getReadStore(3, next.stateStoreCkptId)) == expected)
      val restarted = harness.provider(Format2)
      assert(texts(restarted.getReadStore(3, next.stateStoreCkptId)) == expected)
      assert(texts(restarted.getReadStore(2, lost)) == Map(1L -> "shared", 2L -> "lost"))
      restarted.close()
    }
  }

  test("a retry on the same executor does not replace the file of the attempt before it") {
    withTwo { (_, provider, _) =>
      val first = attempt(provider, 0, None)(put(1, "a"))().stateStoreCkptId
      val won = attempt(provider, 1, first)(put(2, "won"))().stateStoreCkptId
      attempt(provider, 1, first)(put(2, "too late"))()
      assert(texts(provider.getReadStore(2, won)) == Map(1L -> "a", 2L -> "won"))
      val next = attempt(provider, 2, won)()((1L, "k1"))
      assert(texts(provider.getReadStore(3, next.stateStoreCkptId)) == Map(2L -> "won"))
    }
  }

  test("a writer and a reader that open the version in memory by its id do not load it") {
    withTwo { (harness, provider, _) =>
      val first = attempt(provider, 0, None)(put(1, "a"))().stateStoreCkptId
      val second = attempt(provider, 1, first)(put(2, "b"))().stateStoreCkptId
      changelogs(harness).foreach(name => Files.delete(harness.file(name)))
      assert(texts(provider.getReadStore(2, second)).size == 2)
      assert(texts(provider.getStore(1, first)).size == 1)
    }
  }

  test("a checkpoint goes on with ids where it has none") {
    withHarness { harness =>
      val before = harness.provider()
      batch(before, 0)(put(1, "a"))()
      val plain = attempt(before, 1, None)(put(2, "b"))()
      assert(plain == StateStoreCheckpointInfo(0, 2, None, None))
      before.close()

      val after = harness.provider(Format2)
      val first = attempt(after, 2, None)(put(3, "c"))((1L, "k1"))
      assert(first.stateStoreCkptId.isDefined && first.baseStateStoreCkptId.isEmpty)
      val second = attempt(after, 3, first.stateStoreCkptId)(put(4, "d"))()
      assert(second.baseStateStoreCkptId == first.stateStoreCkptId)
      after.close()

      val restarted = harness.provider(Format2)
      val expected = Map(2L -> "b", 3L -> "c", 4L -> "d")
      assert(texts(restarted.getReadStore(4, second.stateStoreCkptId)) == expected)
      assert(texts(restarted.getReadStore(2, None)) == Map(1L -> "a", 2L -> "b"))
      restarted.close()
    }
  }

  test("the first attempt with ids is checked against the file without one that it builds on") {
    withHarness { harness =>
      val (one, two) = (harness.provider(Format2), harness.provider())
      val old = harness.provider()
      batch(old, 0)(put(1, "a"))()
      batch(old, 1)(put(2, "mine"))()
      old.close()
      assert(texts(one.getReadStore(2, None)).size == 2)
      batch(two, 1)(put(2, "theirs"))()
      val store = one.getStore(2, None)
      val error = intercept[Exception](store.commit())
      assert(error.getCause.isInstanceOf[ConflictException])
      store.abort()
      Seq(one, two).foreach(_.close())
    }
  }

  test("a version that was written with an id cannot be opened without") {
    withTwo { (harness, provider, _) =>
      attempt(provider, 0, None)(put(1, "a"))()
      val error = intercept[Exception](provider.getStore(1, None))
      assert(condition(error) == missing)
      assert(error.getCause.getMessage.contains("1.changelog does not exist"))
      assert(error.getCause.getMessage.contains("was written with one"))
      assert(error.getCause.getMessage.contains("checkpointFormatVersion"))
      assert(changelogs(harness).size == 1)
    }
  }

  test("with ids turned off an id is not looked at for writing, and is for reading") {
    withHarness { harness =>
      val withIds = harness.provider(Format2)
      val first = attempt(withIds, 0, None)(put(1, "a"))().stateStoreCkptId
      withIds.close()
      val plain = harness.provider()
      assert(condition(intercept[Exception](plain.getStore(1, first))) == missing)
      assert(texts(plain.getReadStore(1, first)) == Map(1L -> "a"))
      batch(plain, 0)(put(1, "plain"))()
      assert(texts(plain.getStore(1, Some("any"))) == Map(1L -> "plain"))
      plain.close()
    }
  }

  test("a missing base names both versions and both ids; an unknown id names its file") {
    withTwo { (harness, provider, fresh) =>
      val ids = (1 to 3).scanLeft(Option.empty[String]) { (base, n) =>
        attempt(provider, n - 1L, base)(put(n.toLong, "x"))().stateStoreCkptId
      }
      val (second, third) = (ids(2).get, ids(3).get)
      Files.delete(harness.file(s"2_$second.changelog"))
      val error = intercept[Exception](fresh.getStore(3, Some(third)))
      assert(condition(error) == missing)
      val text = error.getCause.getMessage
      assert(error.getCause.isInstanceOf[MissingException])
      assert(text.contains(s"version 3 with the checkpoint id $third is built on version 2"))
      assert(text.contains(s"2_$second.changelog"))
      val unknown = intercept[Exception](fresh.getStore(3, Some("nobody")))
      assert(condition(unknown) == missing && unknown.getMessage.contains("3_nobody.changelog"))
    }
  }

  test("a file under another attempt's name is damage that names both ids") {
    withTwo { (harness, provider, fresh) =>
      val first = attempt(provider, 0, None)(put(1, "a"))().stateStoreCkptId
      val other = attempt(provider, 0, None)(put(1, "b"))().stateStoreCkptId
      val second = attempt(provider, 1, first)(put(2, "c"))().stateStoreCkptId
      val file = harness.file(s"1_${first.get}.changelog")
      Files.write(file, Files.readAllBytes(harness.file(s"1_${other.get}.changelog")))
      val error = intercept[Exception](fresh.getStore(2, second))
      assert(condition(error) == damaged)
      assert(error.getCause.isInstanceOf[CorruptException])
      Seq(first, other).foreach(id => assert(error.getCause.getMessage.contains(id.get)))
    }
  }

  test("the empty store has no id, and an id is letters, digits and dashes") {
    withTwo { (_, provider, _) =>
      val empty = intercept[InvalidException](provider.getStore(0, Some("x")))
      assert(empty.getMessage.contains("Version 0"))
      val strange = intercept[InvalidException](provider.getStore(1, Some("../x")))
      assert(strange.getMessage.contains("'../x'"))
      val store = provider.getStore(0, None)
      assert(store.commit() == 1)
    }
  }
}
