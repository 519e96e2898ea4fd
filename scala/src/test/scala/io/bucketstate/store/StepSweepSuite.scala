package io.bucketstate.store

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.scalatest.concurrent.Eventually
import org.scalatest.tags.Slow
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.config.Engine
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{TidySuite, _}

/**
 * One scripted history of batches with readers, aborts, snapshots, maintenance and stores that are closed and opened again;
 * each step of it in turn goes wrong in each way that has nothing to do with files: an interrupt, an exception that
 * nobody expects, an `Error`. Whatever happens, every batch gets done within a few attempts, the next store finds the state that a plain map
 * holds, and of all that stores have of their process nothing is left, although nobody closes a store twice.
 *
 * `make test` runs a sample; `make sweep` every step.
 */
@Slow
class StepSweepSuite extends TidySuite with Eventually {
  import StepSweepSuite._

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(30, Seconds), interval = Span(10, Millis))

  private val all = sys.env.contains("BUCKETSTATE_SWEEP")

  for (kind <- kinds) {
    test(s"${kind.name}: the history without a fault goes through all steps") {
      val steps = runWith(kind, None)
      for (part <- Seq("newId", "task", "restored", "committed 3", "write 3.changelog", "close"))
        assert(steps.exists(_.contains(part)), part)
      if (kind.takesSnapshots)
        for (part <- Seq("newFolder", "write .*\\.manifest"))
          assert(steps.exists(_.matches(part)), part)
    }

    for (fault <- StepFault.all)
      test(s"${kind.name}: any step ${fault.name}") {
        val count = runWith(kind, None).size
        val random = new Random(s"${kind.name} ${fault.name}".hashCode.toLong)
        val chosen =
          if (all) 1 to count
          else random.shuffle((1 to count).toList).take(kind.sampled).sorted
        chosen.foreach(n => runWith(kind, Some(n -> fault)))
      }
  }

  test("the threads of all that ended, too") {
    eventually(assert(LeftOvers.threads == Nil))
  }

  private def runWith(kind: Kind, fault: Option[(Int, StepFault)]): Seq[String] =
    ShortMemory.when(kind.hasLists)(TempFolder.use(runIn(_, kind, fault)))

  private def runIn(folder: Path, kind: Kind, fault: Option[(Int, StepFault)]): Seq[String] = {
    val before = LeftOvers.ofProcess
    val steps = new Steps(fault)
    val files = new FaultyFileStore(new MemoryFileStore, steps.at(_))
    val harness = new StoreHarness(
      files,
      folder,
      retained = 3,
      step = steps.at(_),
      lists = kind.hasLists
    )
    def what = fault.fold("no fault") { case (n, f) =>
      s"step $n ${f.name}"
    }
    withClue(what) {
      val history = new History(kind, harness)
      try history.run()
      finally Thread.interrupted()
      steps.heal()
      history.check()
      eventually {
        assert(LeftOvers.ofProcess == before)
        assert(workFolders(folder) == Nil)
      }
    }
    steps.all
  }

  private def workFolders(in: Path): Seq[Path] =
    Using.resource(Files.list(in))(_.iterator.asScala.toSeq)

  private final class History(kind: Kind, harness: StoreHarness) {
    private val random = new Random(11)
    private var store = Option.empty[OpenStore]
    private var model = Map.empty[String, String]
    private var version = 0L

    def run(): Unit = {
      (1 to Batches).foreach { n =>
        tried(aborted())
        untilDone(batch(n))
        if (n % 2 == 0) untilDone(read())
        if (n % 3 == 0) tried(store.foreach(_.maintain()))
        if (n % 4 == 0) close()
      }
      close()
    }

    /** As a process finds it that is started next. */
    def check(): Unit = {
      val fresh = harness.open(withIds = false, kind.settings: _*)
      assert(StoreHarness.read(fresh, version) == model)
      StoreHarness.batch(fresh, version)("after" -> Some("all"))
      assert(
        StoreHarness.read(fresh, version + 1) == model + ("after" -> "all")
      )
      assert(fresh.close())
    }

    private def opened(): OpenStore = store.getOrElse {
      val made = harness.open(withIds = false, kind.settings: _*)
      store = Some(made)
      made
    }

    /** Nobody asks again, whatever comes of it. */
    private def close(): Unit = {
      val last = store
      store = None
      tried(last.foreach(_.close()))
    }

    private def batch(n: Int): Unit = {
      val changes = Seq.fill(20) {
        s"key ${random.nextInt(40)}" -> Option.when(random.nextInt(4) > 0) {
          (if (kind.hasLists && random.nextInt(2) == 0) "+" else "") + s"$n " + "v" * 100
        }
      }
      val next = SnapshotRoom.after(model, changes)
      val session = write(opened(), version)
      ending(session) {
        assert(contents(session.table, version + 1) == model)
        change(session, changes: _*)
        session.verify()
        session.commit()
      }
      version += 1
      model = next
    }

    /** A task that fails before its commit. */
    private def aborted(): Unit = {
      val session = write(opened(), version)
      ending(session) {
        change(session, "key 1" -> Some("never"), "key 2" -> None, "not there" -> Some("never"))
        session.abort()
      }
    }

    /** What a task does that has a store: undoes what it could not commit, and lets go, whatever that throws. */
    private def ending(session: WriteSession)(body: => Any): Unit =
      try {
        body
        ()
      } catch {
        case failure: Throwable =>
          tried(session.abort())
          throw failure
      } finally session.end()

    private def read(): Unit = {
      val session = opened().openForRead(Attempt(version))
      try assert(contents(session.table, version) == model)
      finally session.end()
    }

    private def untilDone(body: => Unit): Unit = {
      var attempts = 1
      while (!tried(body)) {
        attempts += 1
        assert(attempts <= 5, "it does not get done")
      }
    }

    /** As an attempt of a task: the next one finds no interrupt of it. */
    private def tried(body: => Unit): Boolean = {
      val outcome = attempt(body)
      Thread.interrupted()
      outcome match {
        case Some(failure: org.scalatest.exceptions.TestFailedException) => throw failure
        case other                                                       => other.isEmpty
      }
    }

    private def attempt(body: => Unit): Option[Throwable] =
      try {
        body
        None
      } catch { case failure: Throwable => Some(failure) }
  }
}

private object StepSweepSuite {
  private final val Batches = 8

  private val OnHeap = "engine" -> Engine.Heap.name
  private val InDatabase = "engine" -> Engine.RocksDb.name
  private val InCommit = "snapshot.mode" -> "sync"

  /**
   * @param sampled  steps of each history that go wrong in each way, where not all do
   * @param hasLists whether values are appended, while all that can leave memory leaves it
   */
  final case class Kind(name: String, sampled: Int, hasLists: Boolean, of: (String, String)*) {

    /** Else they may come too late for what is looked for. */
    val takesSnapshots: Boolean = of.contains(InCommit)
    val settings: Seq[(String, String)] = Seq(
      "snapshot.maxVersions" -> "2",
      "compaction.maxRuns" -> "2",
      "lockAcquireTimeout" -> "5000"
    ) ++ of
  }

  val kinds: Seq[Kind] = Seq(
    Kind("on the heap", 25, false, OnHeap, InCommit),
    Kind("on the heap, lists", 10, true, OnHeap, InCommit),
    Kind("on the heap, snapshots beside the batches", 15, false, OnHeap),
    Kind("in a database", 8, false, InDatabase),
    Kind("in a database, lists", 5, true, InDatabase)
  )
}
