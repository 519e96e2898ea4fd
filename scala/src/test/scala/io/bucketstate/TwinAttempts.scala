package io.bucketstate

import scala.collection.mutable.ArrayBuffer
import scala.util.Random

import org.apache.hadoop.conf.Configuration
import org.apache.spark.{SparkException, SparkThrowable}
import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.config.ConfigKey
import io.bucketstate.error.ConflictException
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{ObjectFileSystem, ProviderHarness}

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
abstract class TwinAttempts extends AnyFunSuite {
  protected def withTwins(body: ProviderHarness => Any): Unit

  /** How many random ones. */
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
