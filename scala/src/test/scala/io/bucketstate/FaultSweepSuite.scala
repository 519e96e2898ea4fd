package io.bucketstate

import scala.util.{Random, Try}

import org.apache.spark.sql.execution.streaming.state._
import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.testkit.CallFault._
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{CallFault, FaultyFileManager, ProviderHarness, ShortMemory}

/**
 * One scripted history of batches with snapshots, compaction, retention and a restart; each file call of
 * it in turn goes wrong in each way a call can. Whatever happens, every batch gets done within a few
 * attempts, what is read is what a plain map holds, and what lies in the folder afterwards opens at the
 * last version and the one before.
 *
 * `make test` runs a sample; `make sweep` every call.
 */
class FaultSweepSuite extends AnyFunSuite {
  private type Model = Map[(Long, String), (Long, String)]

  private val all = sys.env.contains("BUCKETSTATE_SWEEP")
  private val sampled = 14
  private val batches = 14

  private def settings(ids: Boolean): Seq[(String, String)] = Seq(
    "stateStore.bucketed.numBuckets" -> "3",
    "stateStore.bucketed.snapshot.mode" -> "sync", // the same calls in the same order each time
    "stateStore.bucketed.snapshot.maxVersions" -> "2",
    "stateStore.bucketed.compaction.maxRuns" -> "2",
    "stateStore.bucketed.run.maxFileBytes" -> "1k",
    "stateStore.autoSnapshotRepair.enabled" -> "true",
    "minBatchesToRetain" -> "3",
    "ratioExtraSpaceAllowedInCheckpoint" -> "0"
  ).map { case (k, v) => s"spark.sql.streaming.$k" -> v } ++ (if (ids) Seq(Format2) else Nil)

  for {
    ids <- Seq(false, true)
    short <- Seq(false, true)
  } {
    val kind =
      (if (ids) "format 2" else "format 1") + (if (short) ", short of memory" else "")
    def run(fault: Option[(Int, CallFault)]) = ShortMemory.when(short)(runWith(ids, fault))

    test(s"$kind: the history without a fault takes snapshots, merges, deletes and restarts") {
      val calls = run(None)
      assert(calls.exists(_.matches("publish .*\\.manifest")))
      assert(calls.exists(_.matches("publish .*\\.sst")))
      assert(calls.exists(_.matches("delete .*\\.sst")))
      assert(calls.exists(_.matches("delete .*\\.changelog")))
      assert(calls.exists(_.matches("delete .*\\.manifest")))
      assert(calls.exists(_.matches("open .*\\.sst")))
    }

    for (
      (name, fault) <- Seq[(String, Int => CallFault)](
        "fails" -> (_ => Throws),
        "loses its reply" -> (_ => LosesReply),
        "is where the process dies" -> (_ => Crashes),
        "completes late" -> (n => CompletesLate(1 + n % 23))
      )
    )
      test(s"$kind: any call $name") {
        val count = run(None).size
        val chosen =
          if (all) 1 to count
          else new Random(name.hashCode.toLong).shuffle((1 to count).toList).take(sampled).sorted
        chosen.foreach(n => run(Some(n -> fault(n))))
      }
  }

  private def runWith(ids: Boolean, fault: Option[(Int, CallFault)]): Seq[String] =
    withFolder { folder =>
      FaultyFileManager.script(folder) { script =>
        val harness = new ProviderHarness(
          folder,
          hadoop = FaultyFileManager.configure
        )
        fault.foreach { case (n, kind) => script.failAt(n, kind) }
        def clue = s"fault $fault of ${fault.fold("")(f => script.calls.lift(f._1 - 1).mkString)}"
        var inHistory = 0
        withClue(clue) {
          val history = new History(harness, ids, script)
          history.run()
          inHistory = script.calls.size
          script.heal()
          history.checkFolder()
          fault.foreach { case (n, kind) =>
            val behind = script.calls
              .lift(n - 1)
              .exists(_.matches("(create|publish|delete|cancel) .*(sst|manifest)"))
            if (behind && kind != Crashes) assert(history.failedAttempts == 0, "a batch failed")
          }
        }
        script.calls.take(inHistory)
      }
    }

  private final class History(
      harness: ProviderHarness,
      ids: Boolean,
      script: FaultyFileManager.Script
  ) {
    private val random = new Random(7)
    private var provider: StateStoreProvider = _
    private var model: Model = Map.empty
    private var before: Model = Map.empty
    private var version = 0L
    private var id: Option[String] = None
    private var idBefore: Option[String] = None
    var failedAttempts = 0

    def run(): Unit = {
      (1 to batches).foreach { n =>
        batch()
        if (n % 3 == 0) Try(provider.doMaintenance())
        if (n == 9) restart()
      }
      close()
    }

    /** What a restart without any fault finds: the last version and the one before. */
    def checkFolder(): Unit = {
      val fresh = harness.provider(settings(ids): _*)
      assert(contents(fresh.getReadStore(version, id)) == model)
      assert(contents(fresh.getReadStore(version - 1, idBefore)) == before)
      val store = fresh.getStore(version, id)
      store.put(key(1, "after"), value(1, "all"))
      assert(store.commit() == version + 1)
      fresh.close()
    }

    private def batch(): Unit = {
      val changes = Seq.fill(12) {
        val k = (random.nextInt(5).toLong, s"k${random.nextInt(8)}")
        k -> Option.when(random.nextInt(4) > 0)((random.nextLong(), "v" * random.nextInt(200)))
      }
      val next = changes.foldLeft(model) {
        case (m, (k, Some(v))) => m + (k -> v)
        case (m, (k, None))    => m - k
      }
      var done = false
      var attempts = 0
      while (!done) {
        attempts += 1
        assert(attempts <= 5, "the batch does not get done")
        try {
          attempt(changes, next)
          done = true
        } catch {
          case failure: Exception =>
            failedAttempts += 1
            if (attempts == 5) throw failure
            if (script.isCrashed) restart()
        }
      }
      // The process may die in what goes on beside the batch.
      if (script.isCrashed) restart()
    }

    private def attempt(
        changes: Seq[((Long, String), Option[(Long, String)])],
        next: Model
    ): Unit = {
      if (provider == null) provider = harness.provider(settings(ids): _*)
      val store = provider.getStore(version, id)
      try {
        assert(contents(store) == model)
        changes.foreach {
          case (k, Some(v)) => store.put(key(k._1, k._2), value(v._1, v._2))
          case (k, None)    => store.remove(key(k._1, k._2))
        }
        assert(contents(store) == next)
        store.commit()
        before = model
        idBefore = id
        model = next
        version += 1
        id = store.getStateStoreCheckpointInfo().stateStoreCkptId
      } finally if (!store.hasCommitted) Try(store.abort())
    }

    private def restart(): Unit = {
      script.restart()
      close()
    }

    private def close(): Unit = {
      Option(provider).foreach(p => Try(p.close()))
      provider = null
    }
  }
}
