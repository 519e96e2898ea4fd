package io.bucketstate.s3

import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.SparkException
import org.scalatest.BeforeAndAfterAll

import io.bucketstate.TwinAttempts
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{ProviderHarness, Seeds}

/** Attempts at one version on S3A, and answers that get lost. */
class S3TwinAttemptsSuite extends TwinAttempts with BeforeAndAfterAll {
  private lazy val bucket = new Bucket

  override protected def afterAll(): Unit = bucket.close()

  /** At night: by day the suite of the emulated object store has them. */
  override protected def Histories: Int = Seeds.of(few = 0, many = 20)

  override protected def withTwins(body: ProviderHarness => Any): Unit = withFolder { folder =>
    body(
      new ProviderHarness(folder, hadoop = bucket.configure, root = s"s3a://${Emulator.Bucket}")
    )
    ()
  }

  for (format <- Seq(Nil, Seq(Format2)))
    test(s"a commit whose answer got lost is committed, ids: ${format.nonEmpty}") {
      withTwins { harness =>
        val provider = harness.provider(format: _*)
        var id = Option.empty[String]
        for (version <- 0L until 3L) {
          val left = new AtomicInteger(1)
          val store = provider.getStore(version, id)
          store.put(key(version, "k"), value(version, "v"))
          bucket.proxy.during { seen =>
            Option.when(seen.kind == "PUT" && left.getAndDecrement() > 0)(Trouble.LosesAnswer)
          }(assert(store.commit() == version + 1))
          assert(left.get < 0, "it was asked again")
          id = store.getStateStoreCheckpointInfo().stateStoreCkptId
        }
        val read = harness.provider(format: _*).getReadStore(3, id)
        assert(contents(read).keySet == Set((0L, "k"), (1L, "k"), (2L, "k")))
      }
    }

  test("who dies between the write and its answer has committed, and the retry replaces that") {
    withTwins { harness =>
      val dying = harness.provider()
      batch(dying, 0)((1L, "a") -> ((1L, "one")))()
      val store = dying.getStore(1)
      store.put(key(2, "b"), value(2, "dying"))
      // Nor does any further try arrive: there is nobody left to make one.
      val puts = new AtomicInteger
      bucket.proxy.during { seen =>
        Option.when(seen.kind == "PUT") {
          if (puts.getAndIncrement() == 0) Trouble.LosesAnswer else Trouble.Cut
        }
      }(assertThrows[SparkException](store.commit()))
      assert(puts.get > 0)
      store.abort()
      val next = harness.provider()
      assert(valueOf(next.getReadStore(2).get(key(2, "b"))) == ((2L, "dying")))
      batch(next, 1)((2L, "b") -> ((2L, "retry")))()
      assert(valueOf(harness.provider().getReadStore(2).get(key(2, "b"))) == ((2L, "retry")))
    }
  }
}
