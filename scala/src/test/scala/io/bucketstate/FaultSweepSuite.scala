package io.bucketstate

import scala.util.{Random, Try}

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state._
import org.scalatest.exceptions.TestFailedException

import io.bucketstate.config.ConfigKey
import io.bucketstate.record.{Expiry, TimedValue}
import io.bucketstate.testkit.CallFault._
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{
  CallFault,
  EngineUnderTest,
  ExpiryModel,
  FaultyFileManager,
  ObjectFileSystem,
  ProviderHarness,
  ShortMemory,
  TidySuite
}

/**
 * One scripted history of batches with snapshots, compaction, retention and a restart; each file call of
 * it in turn goes wrong in each way a call can. Whatever happens, every batch gets done, and no more attempts at it fail
 * than that one call explains; what is read is what a plain map holds, and what lies in the folder afterwards opens at the
 * last version and the one before.
 *
 * `make test` runs a sample; `make sweep` every call.
 */
class FaultSweepSuite extends FaultSweep("file", FaultyFileManager.configure, Nil)

/** The same in an object store. */
class ObjectFaultSweepSuite
    extends FaultSweep(
      ObjectFileSystem.Scheme,
      ObjectFileSystem.configure,
      Seq(ConfigKey.ObjectStoreSchemes.key -> ObjectFileSystem.Scheme)
    )

abstract class FaultSweep(
    scheme: String,
    hadoop: Configuration => Unit,
    always: Seq[(String, String)]
) extends TidySuite {
  import FaultSweep._

  private type Key = (Long, String)
  private type Value = (Long, String)

  /** All values of each key: one, unless the store has lists. */
  private type Model = ExpiryModel[Key, Seq[Value]]

  private val isObjectStore = scheme == ObjectFileSystem.Scheme
  private val all = sys.env.contains("BUCKETSTATE_SWEEP")
  private val sampled = 4
  private val batches = 14

  private def settings(kind: Kind): Seq[(String, String)] = Seq(
    "stateStore.bucketed.numBuckets" -> "3",
    "stateStore.bucketed.snapshot.mode" -> "sync", // the same calls in the same order each time
    "stateStore.bucketed.snapshot.maxVersions" -> "2",
    "stateStore.bucketed.compaction.maxRuns" -> "2",
    "stateStore.bucketed.compaction.maxBytes" -> (if (kind.spans) "1k" else "1g"),
    "stateStore.bucketed.run.maxFileBytes" -> "1k",
    "stateStore.autoSnapshotRepair.enabled" -> "true",
    "minBatchesToRetain" -> "3",
    "ratioExtraSpaceAllowedInCheckpoint" -> "0"
  ).map { case (k, v) =>
    s"spark.sql.streaming.$k" -> v
  } ++ (if (kind.ids) Seq(Format2) else Nil) ++
    kind.expiry.toSeq.flatMap(ageing("v1", _))

  for {
    ids <- Seq(false, true)
    kind <- Seq(
      Kind(ids),
      Kind(ids, short = true),
      Kind(ids, expires = true),
      Kind(ids, expires = ids, spans = true),
      Kind(ids, short = !ids, lists = true)
    )
  } {
    def run(fault: Option[(Int, CallFault)]) =
      ShortMemory.when(kind.short)(runWith(kind, fault))
    lazy val calls = run(None)

    test(
      s"${kind.name}: the history without a fault takes snapshots, merges, deletes and restarts"
    ) {
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
      test(s"${kind.name}: any call $name") {
        val count = calls.size
        val chosen =
          if (all) 1 to count
          else new Random(name.hashCode.toLong).shuffle((1 to count).toList).take(sampled).sorted
        chosen.foreach(n => run(Some(n -> fault(n))))
      }
  }

  private def runWith(kind: Kind, fault: Option[(Int, CallFault)]): Seq[String] =
    withFolder { folder =>
      FaultyFileManager.script(folder) { script =>
        val harness = new ProviderHarness(
          folder,
          hadoop = hadoop,
          always = always,
          root = s"$scheme:",
          families = kind.lists,
          lists = kind.lists,
          valueSchema = if (kind.expires) TimedValueSchema else ValueSchema
        )
        fault.foreach { case (n, call) => script.failAt(n, call) }
        // Asked when something is wrong: before, nobody knows which call that is.
        val clue = new AnyRef {
          override def toString: String =
            s"fault $fault of ${fault.fold("")(f => script.calls.lift(f._1 - 1).mkString)}"
        }
        var inHistory = 0
        withClue(clue) {
          val history = new History(harness, kind, script)
          history.run()
          inHistory = script.calls.size
          script.heal()
          history.checkFolder()
          val most = mostFailures(kind, fault.map(_._2))
          assert(history.failedAttempts <= most, "too many attempts failed")
          fault.foreach { case (n, call) =>
            // What a database beside the batches asks for, and when, is not the same each time.
            if (!EngineUnderTest.isRocksDb) assert(inHistory >= n, "there was no such call")
            val behind = script.calls
              .lift(n - 1)
              .exists(_.matches("(create|publish|delete|cancel) .*(sst|manifest)"))
            if (behind && call != Crashes) assert(history.failedAttempts == 0, "a batch failed")
          }
        }
        script.calls.take(inHistory)
      }
    }

  /**
   * How many attempts may fail: the one that met the fault, or that came after it if that was beside the batches. One more
   * does in three cases. What was given up for lost and is done late may replace a file that was made since. A new object is
   * there though its reply was lost, and without ids it may as well be of somebody else. And where there is a local database,
   * that meets late files by itself.
   */
  private def mostFailures(kind: Kind, fault: Option[CallFault]): Int = fault match {
    case None                                           => 0
    case Some(CompletesLate(_))                         => if (EngineUnderTest.isRocksDb) 3 else 2
    case Some(LosesReply) if isObjectStore && !kind.ids => 2
    case Some(_)                                        => 1
  }

  private final class History(
      harness: ProviderHarness,
      kind: Kind,
      script: FaultyFileManager.Script
  ) {
    private val random = new Random(7)
    private var provider: StateStoreProvider = _
    private var model: Model = ExpiryModel(kind.expiry)
    private var before: Model = model
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

    /** All that a store holds. */
    private def read(store: ReadStateStore): Map[Key, Seq[Value]] =
      if (kind.lists) listsOf(store)
      else contents(store).map { case (key, value) => key -> Seq(value) }

    /** What a restart without any fault finds: the last version and the one before. */
    def checkFolder(): Unit = {
      val fresh = harness.provider(settings(kind): _*)
      assert(read(fresh.getReadStore(version, id)) == model.plain)
      assert(read(fresh.getReadStore(version - 1, idBefore)) == before.plain)
      val store = fresh.getStore(version, id)
      store.put(key(1, "after"), value(1, "all"))
      assert(store.commit() == version + 1)
      fresh.close()
    }

    private def batch(): Unit = {
      val changes = Seq.fill(12) {
        val k = (random.nextInt(5).toLong, s"k${random.nextInt(8)}")
        k -> Option.when(random.nextInt(4) > 0) {
          val value = (someNumber(), "v" * random.nextInt(200))
          Written(value, isAppended = kind.lists && random.nextInt(2) == 0)
        }
      }
      val begun = model.begun()
      val next = changes.foldLeft(begun) {
        case (m, (k, Some(w))) =>
          val there = if (w.isAppended) m.get(k).getOrElse(Nil) else Nil
          m.put(k, there :+ w.value, startOf(w.value))
        case (m, (k, None)) => m.removed(k)
      }
      var done = false
      var attempts = 0
      while (!done) {
        attempts += 1
        assert(attempts <= 5, "the batch does not get done")
        try {
          attempt(changes, begun, next)
          done = true
        } catch {
          // Another attempt may hide what was found to be wrong.
          case failure: TestFailedException => throw failure
          case failure: Exception           =>
            failedAttempts += 1
            if (attempts == 5) throw failure
            if (script.isCrashed) restart()
        }
      }
      // The process may die in what goes on beside the batch.
      if (script.isCrashed) restart()
    }

    /** Any, or the microseconds of a time that may be late. */
    private def someNumber(): Long =
      if (!kind.expires) random.nextLong()
      else (1000L + 10 * version - random.nextInt(50)) * 1000000L

    private def startOf(value: Value): Long =
      kind.expiry.fold(TimedValue.Never)(_.startOf(value._1 / 1000000L))

    private def attempt(
        changes: Seq[(Key, Option[Written])],
        begun: Model,
        next: Model
    ): Unit = {
      if (provider == null) provider = harness.provider(settings(kind): _*)
      val store = provider.getStore(version, id)
      try {
        assert(read(store) == begun.plain)
        changes.foreach {
          case (k, Some(Written(v, true))) =>
            store.merge(key(k._1, k._2), value(v._1, v._2), Default)
          case (k, Some(Written(v, false))) => store.put(key(k._1, k._2), value(v._1, v._2))
          case (k, None)                    => store.remove(key(k._1, k._2))
        }
        assert(read(store) == next.plain)
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

private object FaultSweep {

  /** @param isAppended to what the key has, or in place of it */
  final case class Written(value: (Long, String), isAppended: Boolean)

  /** What is run: with checkpoint ids, short of memory, with state that expires, merged by spans of buckets, with lists. */
  final case class Kind(
      ids: Boolean,
      short: Boolean = false,
      expires: Boolean = false,
      spans: Boolean = false,
      lists: Boolean = false
  ) {
    def name: String = (if (ids) "format 2" else "format 1") +
      (if (short) ", short of memory" else "") + (if (expires) ", state expires" else "") +
      (if (spans) ", by spans" else "") + (if (lists) ", lists" else "")

    val expiry: Option[Expiry] =
      Option.when(expires)(Expiry(10L, Some(30L), byProcessingTime = false))
  }
}
