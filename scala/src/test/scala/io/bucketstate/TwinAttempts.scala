package io.bucketstate

import scala.collection.mutable.ArrayBuffer
import scala.util.Random

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProvider}
import org.apache.spark.{SparkException, SparkThrowable}

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.config.ConfigKey
import io.bucketstate.error.ConflictException
import io.bucketstate.testkit.CallFault._
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{FaultyFileManager, ObjectFileSystem, ProviderHarness, TidySuite}

class ObjectTwinAttemptsSuite extends TwinAttempts {
  override protected def withTwins(body: ProviderHarness => Any): Unit = withTwinsOn(_ => ())(body)

  private def withTwinsOn(
      how: Configuration => Unit
  )(body: ProviderHarness => Any): Unit = withFolder { folder =>
    body(
      new ProviderHarness(
        folder,
        hadoop = conf => {
          ObjectFileSystem.configure(conf)
          how(conf)
        },
        root = s"${ObjectFileSystem.Scheme}:",
        always = Seq(ConfigKey.ObjectStoreSchemes.key -> ObjectFileSystem.Scheme)
      )
    )
    ()
  }

  for {
    (format, ids) <- Seq("format 1" -> Nil, "format 2" -> Seq(Format2))
    (number, buckets) <- Seq("not set" -> Nil, "set" -> Seq(ConfigKey.NumBuckets.key -> "3"))
  } test(
    s"a commit is one request, and a new store is listed once at most: $format, buckets $number"
  ) {
    withScript { (harness, script) =>
      val provider = harness.provider(ids ++ buckets: _*)
      var id = Option.empty[String]
      var seen = 0
      for (version <- 0L until 4L) {
        id = attempt(provider, version, id)((version, "k") -> ((1L, "x")))().stateStoreCkptId
        val calls = callsFrom(script, seen)
        seen = script.calls.size
        val name = Attempt(version + 1, id).changelog
        val lists = if (version == 0 && (ids.isEmpty || buckets.isEmpty)) Seq("list 0") else Nil
        assert(calls == lists ++ Seq(s"create $name", s"publish $name"))
      }
    }
  }

  test("an attempt that comes to the same as the one before it is that one, while the file is") {
    withScript { (harness, script) =>
      val (provider, other) = (harness.provider(), harness.provider())
      val change = (2L, "b") -> ((1L, "x"))
      batch(provider, 0)((1L, "a") -> ((1L, "one")))()
      batch(provider, 1)(change)()
      var seen = script.calls.size
      for (_ <- 1 to 2) batch(provider, 1)(change)()
      // The version below is looked at beside each.
      assert(
        callsFrom(script, seen).sorted == Seq
          .fill(2)(Seq("open 1.changelog", "open 2.changelog"))
          .flatten
          .sorted
      )
      seen = script.calls.size
      batch(provider, 2)((3L, "c") -> ((1L, "on top")))()
      assert(callsFrom(script, seen) == Seq("create 3.changelog", "publish 3.changelog"))

      // Another attempt has replaced it, with the same, and whoever comes last has to know.
      batch(other, 2)((3L, "c") -> ((1L, "on top")))()
      val late = provider.getStore(2)
      late.put(key(3, "c"), value(1, "on top"))
      assert(intercept[SparkException](late.commit()).getCause.isInstanceOf[ConflictException])
      late.abort()
    }
  }

  for (
    (name, fault) <- Seq(
      "fails" -> Throws,
      "loses its reply" -> LosesReply,
      "is the last" -> Crashes
    )
  ) test(s"a batch is made again and others follow, where any one call on the way $name") {
    def run(at: Option[Int]): Seq[String] = {
      var calls = Seq.empty[String]
      withScript { (harness, script) =>
        var provider = harness.provider()
        def tried(version: Long, number: Long): Boolean = {
          var opened = Option.empty[StateStore]
          try {
            val store = provider.getStore(version)
            opened = Some(store)
            store.put(key(version, "k"), value(number, "x"))
            store.commit() == version + 1
          } catch {
            case _: SparkException =>
              opened.foreach(_.abort())
              // Spark goes on elsewhere once a process is gone.
              if (script.isCrashed) {
                script.restart()
                provider = harness.provider()
              }
              false
          }
        }
        for (version <- 0L to 1L) assert(tried(version, 1L))
        provider = harness.provider()
        val before = script.calls.size
        at.foreach(n => script.failAt(before + n, fault))
        for (version <- 1L to 4L)
          assert((1 to 4).exists(_ => tried(version, 2L)), s"version $version, $at")
        calls = script.calls.drop(before)
        val read = contents(harness.provider().getReadStore(5))
        val wanted = (0L to 4L).map(v => (v, "k") -> ((if (v == 0) 1L else 2L, "x"))).toMap
        assert(read == wanted, s"$at")
      }
      calls
    }
    val calls = run(None)
    assert(Seq("3", "2", "4").forall(n => calls.contains(s"publish $n.changelog")))
    for (n <- 1 to calls.size) run(Some(n))
  }

  private def withScript(body: (ProviderHarness, FaultyFileManager.Script) => Any): Unit =
    withTwins { harness =>
      FaultyFileManager.script(harness.folder)(body(harness, _))
    }

  /** What was asked of the store's folder from a call on, but for the one try whether it refuses a file. */
  private def callsFrom(script: FaultyFileManager.Script, first: Int): Seq[String] =
    script.calls.drop(first).filterNot(_.contains("refused"))

  for (setting <- Seq(ObjectFileSystem.IgnoresCondition, ObjectFileSystem.CannotRefuse))
    test(s"where no file is refused, a replaced one is found out before the next commit: $setting") {
      withTwinsOn(_.setBoolean(setting, true)) { harness =>
        val (one, two) = (harness.provider(), harness.provider())
        batch(one, 0)((1L, "a") -> ((1L, "one")))()
        val stores = Seq(one, two).map(_.getStore(1))
        stores.zipWithIndex.foreach { case (store, n) =>
          store.put(key(2, "b"), value(n.toLong, "x"))
          assert(store.commit() == 2)
        }
        val stale = one.getStore(2)
        assert(intercept[SparkException](stale.commit()).getCause.isInstanceOf[ConflictException])
        stale.abort()
        batch(one, 2)()()
        assert(valueOf(one.getReadStore(3).get(key(2, "b"))) == ((1L, "x")))
      }
    }
}

/** Two attempts at one version, on two executors, in a store that refuses to replace a file that is to be new. */
abstract class TwinAttempts extends TidySuite {
  protected def withTwins(body: ProviderHarness => Any): Unit

  /** How many random ones; with none there is no test of them. */
  protected def Histories: Int = 20

  private val One = (1L, "a") -> ((1L, "one"))

  test(
    "without ids the slower one is refused by the store, and its retry replaces the winner's file"
  ) {
    withTwins { harness =>
      val (winner, loser) = (harness.provider(), harness.provider())
      batch(winner, 0)(One)()
      val (first, second) = (winner.getStore(1), loser.getStore(1))
      first.put(key(2, "b"), value(2, "first"))
      second.put(key(2, "b"), value(2, "second"))
      assert(first.commit() == 2)
      val refused = intercept[SparkException](second.commit())
      assert(
        refused
          .asInstanceOf[SparkThrowable]
          .getCondition == "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT"
      )
      assert(refused.getCause.isInstanceOf[ConflictException])
      second.abort()
      assert(contents(harness.provider().getReadStore(2)) == Map(One, (2L, "b") -> ((2L, "first"))))

      val retry = loser.getStore(1)
      retry.put(key(2, "b"), value(2, "retry"))
      assert(retry.commit() == 2)
      assert(contents(harness.provider().getReadStore(2)) == Map(One, (2L, "b") -> ((2L, "retry"))))

      // Who was faster then finds out with the next commit.
      val stale = winner.getStore(2)
      assert(intercept[SparkException](stale.commit()).getCause.isInstanceOf[ConflictException])
      stale.abort()
      batch(winner, 2)((3L, "c") -> ((3L, "on top")))()
      assert(contents(winner.getReadStore(3)).keySet == Set((1L, "a"), (2L, "b"), (3L, "c")))
    }
  }

  test("a batch that was committed before a restart is committed again") {
    withTwins { harness =>
      for (version <- Seq(0L, 1L, 2L)) {
        val died = harness.provider()
        batch(died, version)((version, "k") -> ((1L, "died")))()
        died.close()
        val again = harness.provider()
        batch(again, version)((version, "k") -> ((2L, "again")))()
        assert(contents(again.getReadStore(version + 1)).values.forall(_ == ((2L, "again"))))
        again.close()
      }
    }
  }

  test("an attempt in the same process is taken back and made again") {
    withTwins { harness =>
      val provider = harness.provider()
      batch(provider, 0)(One)()
      for (n <- 1 to 3) batch(provider, 1)((2L, "b") -> ((n.toLong, "attempt")))()
      assert(valueOf(harness.provider().getReadStore(2).get(key(2, "b"))) == ((3L, "attempt")))
    }
  }

  if (Histories > 0)
    test("batches and their retries on three executors, in any order, against a map") {
      for (seed <- 1 to Histories) withTwins { harness =>
        val random = new Random(seed.toLong)
        val providers = (1 to 3).map(_ => harness.provider())
        def change(at: Long) = ((random.nextInt(4).toLong, "k"), (at, s"${random.nextInt(1000)}"))
        // What Spark goes on from, and what that was made of.
        var before = Map.empty[(Long, String), (Long, String)]
        var newest = before
        var version = 0L
        for (_ <- 1 to 25) {
          val isRetry = version > 0 && random.nextInt(3) == 0
          val (base, state) = if (isRetry) (version - 1, before) else (version, newest)
          val its = change(base)
          val provider = providers(random.nextInt(providers.size))
          def tries(): Boolean = {
            val store = provider.getStore(base)
            try {
              store.put(key(its._1._1, its._1._2), value(its._2._1, its._2._2))
              store.commit() == base + 1
            } catch {
              case e: SparkException =>
                assert(e.getCause.isInstanceOf[ConflictException])
                store.abort()
                false
            }
          }
          // Who is behind fails, and has what counts when it is tried again.
          assert((1 to 4).exists(_ => tries()), s"seed $seed, version $version")
          before = state
          newest = state + its
          version = base + 1
          val reader = harness.provider()
          assert(contents(reader.getReadStore(version)) == newest, s"seed $seed, version $version")
          reader.close()
        }
      }
    }

  for (base <- Seq(0L, 1L, 2L))
    test(s"an attempt at version ${base + 1} that hangs while two batches go by replaces nothing") {
      withTwins { harness =>
        val others = harness.provider()
        for (version <- 0L until base) batch(others, version)((version, "k") -> ((1L, "x")))()
        val late = hanging(harness.provider(), base)
        for (version <- Seq(base, base + 1))
          batch(others, version)((version, "k") -> ((1L, "x")))()
        requireRefused(late)
        requireNotLate(harness, base + 2)
      }
    }

  test("so does one at a version that it has written before") {
    withTwins { harness =>
      val (twice, others) = (harness.provider(), harness.provider())
      batch(twice, 0)(One)()
      batch(twice, 1)((2L, "b") -> ((1L, "first")))()
      val late = hanging(twice, 1)
      batch(others, 1)((2L, "b") -> ((2L, "others")))()
      batch(others, 2)((3L, "c") -> ((2L, "others")))()
      requireRefused(late)
      requireNotLate(harness, 3)
    }
  }

  test("so does one at the version after one that it has replaced") {
    withTwins { harness =>
      val (first, replacing, others) = (harness.provider(), harness.provider(), harness.provider())
      batch(first, 0)(One)()
      batch(first, 1)((2L, "b") -> ((1L, "first")))()
      batch(replacing, 1)((2L, "b") -> ((2L, "replacing")))()
      val late = hanging(replacing, 2)
      batch(others, 2)((3L, "c") -> ((3L, "others")))()
      batch(others, 3)((4L, "d") -> ((3L, "others")))()
      requireRefused(late)
      requireNotLate(harness, 4)
    }
  }

  test("so does one that began when the version and the one after it had files of attempts before") {
    withTwins { harness =>
      val first = harness.provider()
      for (version <- Seq(0L, 1L)) batch(first, version)((version, "k") -> ((1L, "x")))()
      batch(harness.provider(), 1)((1L, "k") -> ((2L, "x")))()
      val late = hanging(harness.provider(), 1)
      val others = harness.provider()
      for (version <- Seq(1L, 2L)) batch(others, version)((version, "k") -> ((3L, "x")))()
      requireRefused(late)
      requireNotLate(harness, 3)
    }
  }

  test("nothing is committed on a version that is replaced meanwhile") {
    withTwins { harness =>
      val (first, replacing) = (harness.provider(), harness.provider())
      batch(first, 0)(One)()
      batch(first, 1)((2L, "b") -> ((1L, "first")))()
      batch(replacing, 1)((2L, "b") -> ((2L, "replacing")))()
      val stale = hanging(replacing, 2)
      batch(harness.provider(), 1)((2L, "b") -> ((3L, "again")))()
      requireRefused(stale)
      batch(replacing, 2)((3L, "c") -> ((3L, "on top")))()
      assert(
        contents(harness.provider().getReadStore(3)) ==
          Map(One, (2L, "b") -> ((3L, "again")), (3L, "c") -> ((3L, "on top")))
      )
    }
  }

  for (base <- Seq(0L, 1L))
    test(s"a query that failed in batch $base, however often, goes on without a failed attempt") {
      withTwins { harness =>
        val before = harness.provider()
        for (version <- 0L until base) batch(before, version)((version, "k") -> ((0L, "x")))()
        for (start <- 1 to 4) {
          val failed = harness.provider()
          batch(failed, base)((base, "k") -> ((start.toLong, "failed")))()
          failed.close()
        }
        val last = harness.provider()
        for (version <- base until base + 8) {
          batch(last, version)((version, "k") -> ((9L, "last")))()
          val reader = harness.provider()
          val read = contents(reader.getReadStore(version + 1))
          assert(read.keySet == (0L to version).map(v => (v, "k")).toSet)
          assert((base to version).forall(v => read((v, "k")) == ((9L, "last"))))
          reader.close()
        }
      }
    }

  if (Histories > 0) test("attempts that hang, beside batches and their retries, against a map") {
    for (seed <- 1 to Histories) withTwins(new HangingHistory(_, seed).run())
  }

  /** A store that has changes, and is to commit when others have gone on. */
  private def hanging(provider: StateStoreProvider, base: Long): StateStore = {
    val store = provider.getStore(base)
    store.put(key(base, "late"), value(0L, "late"))
    store
  }

  private def requireRefused(late: StateStore): Unit = {
    assert(intercept[SparkException](late.commit()).getCause.isInstanceOf[ConflictException])
    late.abort()
  }

  /** Nothing of what [[hanging]] has put is in a version, nor in the one before it. */
  private def requireNotLate(harness: ProviderHarness, newest: Long): Unit = {
    val fresh = harness.provider()
    for (version <- Seq(newest - 1, newest))
      assert(!contents(fresh.getReadStore(version)).keySet.exists(_._2 == "late"))
  }

  /** Batches on some executors; an attempt may be held back on one of them while the others go on. */
  private final class HangingHistory(harness: ProviderHarness, seed: Int) {
    private type State = Map[(Long, String), (Long, String)]
    private final class Held(
        val store: StateStore,
        val base: Long,
        val state: State,
        val its: State
    )

    private val random = new Random(seed.toLong)
    private val providers = (1 to 4).map(_ => harness.provider())
    private var held = Map.empty[Int, Held]
    // What Spark goes on from, and what that was made of.
    private var before: State = Map.empty
    private var newest: State = before
    private var version = 0L

    def run(): Unit = {
      for (step <- 1 to 30) {
        val number = random.nextInt(providers.size)
        held.get(number) match {
          case Some(late) =>
            held -= number
            finish(late)
          case None if held.size < providers.size - 1 && random.nextInt(4) == 0 =>
            held += number -> opened(number, step)
          case None =>
            assert((1 to 4).exists(_ => finish(opened(number, step))), s"seed $seed, step $step")
        }
        val reader = harness.provider()
        assert(contents(reader.getReadStore(version)) == newest, s"seed $seed, step $step")
        reader.close()
      }
      held.values.foreach(_.store.abort())
    }

    private def opened(number: Int, step: Int): Held = {
      val isRetry = version > 0 && random.nextInt(3) == 0
      val (base, state) = if (isRetry) (version - 1, before) else (version, newest)
      val its = (random.nextInt(4).toLong, "k") -> ((step.toLong, s"${random.nextInt(1000)}"))
      val store = providers(number).getStore(base)
      store.put(key(its._1._1, its._1._2), value(its._2._1, its._2._2))
      new Held(store, base, state, Map(its))
    }

    /** Whether it was committed. Whatever is must be on what counts, and no version is replaced that another is built on. */
    private def finish(attempt: Held): Boolean =
      try {
        assert(attempt.store.commit() == attempt.base + 1)
        val state = if (attempt.base == version) newest else before
        assert(attempt.base >= version - 1, s"seed $seed: version $version was built on it")
        assert(attempt.state == state, s"seed $seed: its base was replaced")
        before = state
        newest = state ++ attempt.its
        version = attempt.base + 1
        true
      } catch {
        case e: SparkException =>
          assert(e.getCause.isInstanceOf[ConflictException])
          attempt.store.abort()
          false
      }
  }

  test("with ids both are committed, and Spark says which one counts") {
    withTwins { harness =>
      val (a, b) = (harness.provider(Format2), harness.provider(Format2))
      val base = attempt(a, 0, None)(One)()
      val stores = ArrayBuffer(a, b).map(_.getStore(1, base.stateStoreCkptId))
      stores.zipWithIndex.foreach { case (store, n) =>
        store.put(key(2, "b"), value(n.toLong, "x"))
      }
      assert(stores.map(_.commit()) == Seq(2, 2))
      stores.zipWithIndex.foreach { case (store, n) =>
        val id = store.getStateStoreCheckpointInfo().stateStoreCkptId
        val read = harness.provider(Format2).getReadStore(2, id)
        assert(contents(read) == Map(One, (2L, "b") -> ((n.toLong, "x"))))
      }
    }
  }
}
