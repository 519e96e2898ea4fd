package io.bucketstate

import scala.util.Try

import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProvider}

import io.bucketstate.checkpoint.io.{Attempt, ChangelogName, CheckpointFiles, ManifestName}
import io.bucketstate.testkit.CallFault._
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{CallFault, FaultyFileManager, LeftOvers, ProviderHarness, TidySuite}

/** `getStore(loadEmpty = true)`: a version whose state builds on nothing, as Spark's tools write one. */
class LoadEmptySuite extends TidySuite {
  private type Model = Map[(Long, String), (Long, String)]

  private val moved: Model =
    (1 to 200).map(n => ((n % 7).toLong, s"moved $n") -> (n.toLong, "v" * (n % 50))).toMap

  private def empty(provider: StateStoreProvider, version: Long): StateStore =
    ours(provider).getStore(version, None, forceSnapshotOnCommit = false, loadEmpty = true)

  /** Writes a version anew; its id. */
  private def writeAnew(
      provider: StateStoreProvider,
      version: Long,
      rows: Model = moved
  ): Option[String] = {
    val store = empty(provider, version)
    try {
      rows.foreach { case ((a, b), (c, d)) => store.put(key(a, b), value(c, d)) }
      assert(store.commit() == version + 1)
      store.getStateStoreCheckpointInfo().stateStoreCkptId
    } finally if (!store.hasCommitted) Try(store.abort())
  }

  private def read(provider: StateStoreProvider, version: Long, id: Option[String]): Model = {
    val store = provider.getReadStore(version, id)
    try contents(store)
    finally ours(store).release()
  }

  private def names(harness: ProviderHarness): Set[String] =
    FaultyFileManager.filesUnder(harness.storeFolder).map(_.getFileName.toString).toSet

  for {
    (kind, settings) <- Seq("format 1" -> Nil, "format 2" -> Seq(Format2))
    from <- Seq(0L, 1L, 41L)
  }
    test(
      s"$kind: what is written on the empty version $from is a manifest alone, and is gone on from"
    ) {
      withHarness { harness =>
        val provider = harness.provider(settings: _*)
        val id = writeAnew(provider, from)
        assert(id.isDefined == settings.nonEmpty)
        val made = Attempt(from + 1, id)
        val own = names(harness).flatMap(CheckpointFiles.parse)
        assert(own.contains(ManifestName(made)))
        assert(own.collect { case changelog: ChangelogName => changelog }.isEmpty)
        assert(read(provider, from + 1, id) == moved)
        val next = attempt(provider, from + 1, id)((1L, "next") -> (1L, "n"))((1L, "moved 1"))
        provider.close()
        val restarted = harness.provider(settings: _*)
        val wanted = moved - (1L -> "moved 1") + ((1L, "next") -> (1L, "n"))
        assert(read(restarted, from + 2, next.stateStoreCkptId) == wanted)
        assert(read(restarted, from + 1, id) == moved)
        restarted.close()
      }
    }

  for ((kind, settings) <- Seq("format 1" -> Nil, "format 2" -> Seq(Format2)))
    test(s"$kind: nothing of the versions before is in it, and they stay what they are") {
      withHarness { harness =>
        val provider = harness.provider(settings: _*)
        val one = attempt(provider, 0, None)((1L, "a") -> (1L, "1"))().stateStoreCkptId
        val two = attempt(provider, 1, one)((1L, "b") -> (2L, "2"))().stateStoreCkptId
        val open = empty(provider, 2)
        assert(contents(open).isEmpty)
        open.put(key(1, "b"), value(3, "3"))
        assert(contents(open) == Map((1L, "b") -> (3L, "3")))
        assert(open.metrics.numKeys == 1)
        assert(open.commit() == 3)
        val three = open.getStateStoreCheckpointInfo()
        assert(three.baseStateStoreCkptId.isEmpty && three.batchVersion == 3)
        assert(open.metrics.numKeys == 1)
        assert(figures(open)("bucketedChangelogBytes") == 0)
        assert(figures(open)("bucketedRunBytes") > 0)
        assert(read(provider, 3, three.stateStoreCkptId) == Map((1L, "b") -> (3L, "3")))
        assert(read(provider, 2, two) == Map((1L, "a") -> (1L, "1"), (1L, "b") -> (2L, "2")))
        provider.close()
      }
    }

  test("what is given up leaves nothing, and memory is what it was") {
    withHarness { harness =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "1"))()
      val before = names(harness)
      val open = empty(provider, 1)
      open.put(key(1, "b"), value(3, "3"))
      open.abort()
      assert(names(harness) == before)
      assert(read(provider, 1, None) == Map((1L, "a") -> (1L, "1")))
      batch(provider, 1)((1L, "c") -> (1L, "1"))()
      assert(read(provider, 2, None).keySet == Set((1L, "a"), (1L, "c")))
      provider.close()
      assert(LeftOvers.ofProcess.openRuns == 0)
    }
  }

  test("an empty state is a state, too") {
    withHarness { harness =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "1"))()
      writeAnew(provider, 1, Map.empty)
      provider.close()
      val restarted = harness.provider()
      assert(read(restarted, 2, None).isEmpty)
      batch(restarted, 2)((1L, "b") -> (1L, "1"))()
      assert(read(restarted, 3, None).keySet == Set((1L, "b")))
      restarted.close()
    }
  }

  test("a changelog that an attempt at the version has left leads nowhere") {
    withHarness { harness =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "1"))()
      batch(provider, 1)((1L, "given up") -> (1L, "1"))()
      writeAnew(provider, 1)
      assert(!names(harness).contains("2.changelog"))
      assert(read(provider, 2, None) == moved)
      batch(provider, 2)((1L, "next") -> (1L, "1"))()
      provider.close()
      val restarted = harness.provider()
      assert(read(restarted, 3, None) == moved + ((1L, "next") -> (1L, "1")))
      restarted.close()
    }
  }

  test(
    "it is written again where the attempt before came to nothing, and the query may make the version itself"
  ) {
    withHarness { harness =>
      val provider = harness.provider()
      batch(provider, 0)((1L, "a") -> (1L, "1"))()
      writeAnew(provider, 1)
      writeAnew(provider, 1, Map((1L, "again") -> (1L, "1")))
      assert(read(provider, 2, None) == Map((1L, "again") -> (1L, "1")))
      batch(provider, 1)((1L, "b") -> (1L, "1"))()
      provider.close()
      val restarted = harness.provider()
      assert(read(restarted, 2, None).keySet == Set((1L, "a"), (1L, "b")))
      restarted.close()
    }
  }

  for ((kind, settings) <- Seq("format 1" -> Nil, "format 2" -> Seq(Format2)))
    test(
      s"$kind: whatever call fails, what is there is the version or an error, and a retry makes it"
    ) {
      val calls = sweep(settings, None)
      assert(calls.exists(_.matches("publish .*\\.manifest")))
      for {
        n <- 1 to calls.size
        fault <- Seq(Throws, LosesReply, Crashes, CompletesLate(3))
      } withClue(s"$fault at ${calls(n - 1)}: ")(sweep(settings, Some(n -> fault)))
    }

  /** On top of two versions, and of a third one that was given up. */
  private def sweep(
      settings: Seq[(String, String)],
      fault: Option[(Int, CallFault)]
  ): Seq[String] = withFaults { (harness, script) =>
    val first = harness.provider(settings: _*)
    val one = attempt(first, 0, None)((1L, "a") -> (1L, "1"))().stateStoreCkptId
    val two = attempt(first, 1, one)((1L, "b") -> (1L, "1"))().stateStoreCkptId
    attempt(first, 2, two)((1L, "given up") -> (1L, "1"))()
    first.close()
    val before = script.calls.size
    fault.foreach { case (n, call) => script.failAt(before + n, call) }
    def tried(): Try[Option[String]] = {
      val own = harness.provider(settings: _*)
      try Try(writeAnew(own, 2))
      finally Try(own.close())
    }
    val first3 = Try(tried()).flatten
    val calls = script.calls.drop(before)
    if (fault.isEmpty) assert(first3.isSuccess, first3)
    script.restart()
    script.heal()
    val three = first3.getOrElse(tried().get)
    val query = harness.provider(settings: _*)
    assert(read(query, 3, three) == moved)
    assert(read(query, 2, two).keySet == Set((1L, "a"), (1L, "b")))
    val four = attempt(query, 3, three)((1L, "next") -> (1L, "1"))().stateStoreCkptId
    query.close()
    val restarted = harness.provider(settings: _*)
    assert(read(restarted, 4, four) == moved + ((1L, "next") -> (1L, "1")))
    restarted.close()
    calls
  }
}
