package io.bucketstate.checkpoint.snapshot

import java.util.concurrent.CancellationException

import scala.collection.mutable.ArrayBuffer
import scala.util.{Random, Using}

import org.scalatest.tags.Slow

import io.bucketstate.background.WorkGate
import io.bucketstate.checkpoint.io.{CheckpointFiles, FileStore, ManifestName}
import io.bucketstate.checkpoint.manifest.{KeysAt, Manifest, Manifests}
import io.bucketstate.error.{BucketstateException, CorruptException, MissingException}
import io.bucketstate.testkit.{
  Fault,
  FaultyFileStore,
  MemoryFileStore,
  Seeds,
  SnapshotRoom,
  TempFolder,
  TidySuite,
  WatchedFileStore
}

/** Runs that are merged while snapshots go on. */
@Slow
class CompactionSuite extends TidySuite {

  private def manifests(store: FileStore): Seq[Manifest] =
    store.list().flatMap(f => CheckpointFiles.parse(f.name)).collect { case m: ManifestName =>
      new Manifests(store).read(m)
    }

  private def commit(room: SnapshotRoom, random: Random): Long = {
    val now = room.model(room.newest)
    val changes = Seq
      .fill(1 + random.nextInt(8)) {
        s"key-${random.nextInt(40)}" -> Option.when(random.nextInt(4) > 0)(s"${random.nextLong()}")
      }
      .toMap
      .toSeq
    room.commit(changes.filter { case (k, v) => v.isDefined || now.contains(k) }: _*)
  }

  /** Data files that no manifest names. */
  private def unnamed(store: FileStore): Set[String] =
    store.list("runs").map(_.name).toSet -- manifests(store).flatMap(_.fileNames)

  private def requireRight(room: SnapshotRoom, store: FileStore): Unit = manifests(store).foreach {
    manifest =>
      assert(room.contentOf(manifest) == room.model(manifest.version), manifest.file.name)
  }

  private def withRoom(maxRuns: Int, counts: Long => Boolean = _ => true)(
      body: (SnapshotRoom, MemoryFileStore) => Any
  ): Unit =
    TempFolder.use { folder =>
      val store = new MemoryFileStore
      Using.resource(new SnapshotRoom(store, folder, maxRuns, counts = counts)) { room =>
        body(room, store)
        ()
      }
    }

  /** Appends until one is to be run. */
  private def firstCompaction(room: SnapshotRoom, keys: Int = 200): Compaction = {
    room.commit((1 to keys).map(i => s"key-$i" -> Some("a")): _*)
    room.snapshotter.take(room.target(1), compactsBeside = true)
    Iterator
      .continually {
        val version =
          room.commit(s"key-${room.newest}" -> Some("b"), s"only ${room.newest}" -> Some("c"))
        room.snapshotter.take(room.target(version), compactsBeside = true).compaction
      }
      .collectFirst { case Some(compaction) => compaction }
      .get
  }

  for (seed <- 1 to Seeds.of(4))
    test(s"whenever a compaction runs, the runs hold the state of their version, seed $seed") {
      val random = new Random(seed.toLong)
      withRoom(1 + random.nextInt(4)) { (room, store) =>
        val waiting = ArrayBuffer.empty[Compaction]
        var adopted = 0
        for (_ <- 1 to 60) {
          (0 to random.nextInt(3)).foreach(_ => commit(room, random))
          val before = manifests(store).flatMap(_.runs).toSet
          val target = room.target(room.newest, fromMemory = random.nextBoolean())
          val report =
            room.snapshotter.take(target, compactsBeside = random.nextInt(10) > 0)
          waiting ++= report.compaction
          if (report.manifest.runs.tail.exists(!before(_))) adopted += 1
          while (waiting.nonEmpty && random.nextInt(3) == 0)
            try waiting.remove(0).run(WorkGate.Open)
            catch { case _: CancellationException => () }
        }
        assert(adopted > 0)
        requireRight(room, store)
        room.snapshotter.discard()
        assert(room.snapshotter.inFlight.isEmpty)
        assert(unnamed(store).isEmpty)
      }
    }

  for (seed <- 1 to Seeds.of(2))
    test(s"whole runs count the keys that nobody has counted, seed $seed") {
      val random = new Random(seed.toLong)
      def isCounted(version: Long) = version % (1 + seed % 3) > 0
      withRoom(1 + random.nextInt(3), isCounted) { (room, store) =>
        var (compacted, told) = (0, 0)
        for (n <- 1 to 80) {
          commit(room, random)
          val beside = n % 3 > 0
          val target = room.target(room.newest, fromMemory = random.nextBoolean())
          val report = room.snapshotter.take(target, compactsBeside = beside)
          val (version, family) = (report.manifest.version, report.manifest.families.head)
          val isWhole = report.manifest.runs.size == 1
          assert(
            family.keyCount ==
              Option.when(isCounted(version) || isWhole)(room.model(version).size.toLong)
          )
          family.lastCount.foreach { of =>
            told += 1
            assert(of.version < version && of.keys == room.model(of.version).size)
          }
          report.compaction.foreach { c =>
            c.run(WorkGate.Open)
            c.counted.get(0).foreach { of =>
              compacted += 1
              assert(of == KeysAt(version, room.model(version).size.toLong))
            }
          }
        }
        assert(compacted > 0 && told > 0)
        requireRight(room, store)
      }
    }

  test("snapshots go on while it runs, and the next one after it names its result") {
    withRoom(maxRuns = 3) { (room, _) =>
      val compaction = firstCompaction(room)
      val before = manifestOf(room)
      room.commit("during" -> Some("d"))
      var during = Option.empty[Manifest]
      compaction.run(new WorkGate {
        def begin(records: Long): Unit = ()
        def pass(): Unit = if (during.isEmpty)
          during = Some(
            room.snapshotter.take(room.target(room.newest), compactsBeside = true).manifest
          )
      })
      assert(during.get.runs.tail == before.runs)
      val version = room.commit("after" -> Some("e"))
      val after = room.snapshotter.take(room.target(version), compactsBeside = true)
      assert(after.manifest.runs.slice(1, 3) == during.get.runs.take(2))
      assert(after.manifest.runs.size < during.get.runs.size + 1)
      assert(room.contentOf(after.manifest) == room.model(version))
    }
  }

  private def manifestOf(room: SnapshotRoom): Manifest = {
    val version = room.commit("one more" -> Some("x"))
    room.snapshotter.take(room.target(version), compactsBeside = true).manifest
  }

  test("a compaction that never runs, or comes to no end, does not let the runs pile up") {
    withRoom(maxRuns = 3) { (room, store) =>
      firstCompaction(room)
      (1 to 40).foreach { _ =>
        val version = room.commit(s"key-${room.newest % 7}" -> Some("b"))
        val report = room.snapshotter.take(room.target(version), compactsBeside = true)
        assert(report.manifest.runs.size <= 6)
      }
      // As when every start of the query ends before one is done.
      (1 to 20).foreach { _ =>
        val version = room.commit(s"key-${room.newest % 7}" -> Some("b"))
        val report = room.newSnapshotter().take(room.target(version), compactsBeside = true)
        assert(report.manifest.runs.size <= 6)
      }
      requireRight(room, store)
    }
  }

  test("a whole snapshot beside it makes it superfluous: it ends, and leaves nothing") {
    withRoom(maxRuns = 3) { (room, store) =>
      val compaction = firstCompaction(room)
      // More than all that there was.
      room.commit((0 until 1000).map(n => s"new $n" -> Some("b" * 100)): _*)
      assert(room.snapshotter.take(room.target(room.newest)).manifest.runs.size == 1)
      assertThrows[CancellationException](compaction.run(WorkGate.Open))
      assert(room.snapshotter.inFlight.isEmpty)
      assert(unnamed(store).isEmpty)
    }
  }

  test("one that ended but is named by nobody is deleted at the end, one that is named is not") {
    withRoom(maxRuns = 3) { (room, store) =>
      val compaction = firstCompaction(room)
      val before = store.list("runs").map(_.name).toSet
      compaction.run(WorkGate.Open)
      assert(room.snapshotter.inFlight.nonEmpty)
      assert(store.list("runs").map(_.name).toSet == before ++ room.snapshotter.inFlight)
      room.snapshotter.discard()
      assert(store.list("runs").map(_.name).toSet == before)
    }
    withRoom(maxRuns = 3) { (room, store) =>
      firstCompaction(room).run(WorkGate.Open)
      val version = room.commit("a" -> Some("b"))
      val named = room.snapshotter.take(room.target(version), compactsBeside = true).manifest
      room.snapshotter.discard()
      assert(room.contentOf(named) == room.model(version))
      assert(named.fileNames.subsetOf(store.list("runs").map(_.name).toSet))
    }
  }

  test(
    "one over versions that are taken back is given up: what expired with them may be live again"
  ) {
    withRoom(maxRuns = 3) { (room, store) =>
      firstCompaction(room).giveUp()
      val kept = room.newest
      // With nothing changed: all that is merged at the second of them is there at the version before both.
      def next() = room.snapshotter.take(room.target(room.commit()), compactsBeside = true)
      next().compaction.foreach(_.giveUp())
      val compaction = next().compaction.get
      compaction.run(WorkGate.Open)
      val made = compaction.inFlight
      assert(made.nonEmpty)
      room.backTo(kept)
      // As Spark does: what is taken back is loaded from the files.
      room.snapshotter.startFrom(manifests(store).find(_.version == kept))
      val version = room.commit("a" -> Some("another b"))
      val report = room.snapshotter.take(room.target(version), compactsBeside = true)
      assert(report.manifest.fileNames.intersect(made).isEmpty)
      assert(room.contentOf(report.manifest) == room.model(version))
      assert(store.list("runs").forall(f => !made(f.name)))
    }
  }

  test("where a file that it merges is gone, the next snapshot is made of memory") {
    withRoom(maxRuns = 3) { (room, store) =>
      val compaction = firstCompaction(room)
      room.runs.retain(Set.empty)
      store.delete(manifests(store).maxBy(_.version).runs(1).files.head.name)
      assertThrows[MissingException](compaction.run(WorkGate.Open))
      val version = room.commit("a" -> Some("b"))
      val target = room.target(version, fromMemory = true)
      val report = room.snapshotter.take(target, compactsBeside = true)
      assert(report.manifest.runs.size == 1)
      assert(room.contentOf(report.manifest) == room.model(version))
    }
  }

  test("a result that is gone before a manifest names it fails one snapshot alone") {
    withRoom(maxRuns = 3) { (room, store) =>
      val compaction = firstCompaction(room)
      compaction.run(WorkGate.Open)
      val results = room.snapshotter.inFlight
      assert(results.nonEmpty)
      room.runs.retain(Set.empty)
      results.foreach(store.delete)
      room.commit("a" -> Some("b"))
      assertThrows[MissingException](room.snapshotter.take(room.target(room.newest)))
      val version = room.commit("c" -> Some("d"))
      val next = room.snapshotter.take(room.target(version)).manifest
      assert(next.fileNames.intersect(results).isEmpty)
      assert(room.contentOf(next) == room.model(version))
    }
  }

  /** Takes a snapshot of the newest version from the files, and does something while it is under way. */
  private def takeWhile(room: SnapshotRoom)(meanwhile: => Any): SnapshotReport = {
    var isDone = false
    val gate = new WorkGate {
      def begin(records: Long): Unit = ()
      def pass(): Unit = if (!isDone) {
        isDone = true
        meanwhile
        ()
      }
    }
    val report =
      room.snapshotter.take(room.target(room.newest), gate = gate, compactsBeside = true)
    assert(isDone)
    report
  }

  private def damageOldest(room: SnapshotRoom, store: MemoryFileStore): String = {
    room.runs.retain(Set.empty)
    val name = manifests(store).maxBy(_.version).runs.last.files.head.name
    val bytes = store.read(name, None)
    bytes(bytes.length / 3) = (bytes(bytes.length / 3) ^ 1).toByte
    store.put(name, bytes)
    name
  }

  test("what a restart found while a snapshot was under way is not forgotten when that ends") {
    withRoom(maxRuns = 3) { (room, _) =>
      room.commit((1 to 200).map(i => s"key-$i" -> Some("a")): _*)
      val damaged = room.snapshotter.take(room.target(1)).manifest.fileNames
      room.commit("a" -> Some("b"))
      takeWhile(room)(room.snapshotter.startFrom(None, doubtsFiles = true))
      val version = room.commit("c" -> Some("d"))
      val next = room.snapshotter.take(room.target(version, fromMemory = true)).manifest
      assert(next.runs.size == 1 && next.fileNames.intersect(damaged).isEmpty)
      assert(room.contentOf(next) == room.model(version))
    }
  }

  test("a snapshot is not published that names what a compaction beside it found damaged") {
    withRoom(maxRuns = 3) { (room, store) =>
      val compaction = firstCompaction(room)
      val damaged = damageOldest(room, store)
      room.commit("a" -> Some("b"))
      val failure = intercept[CorruptException] {
        takeWhile(room)(assertThrows[CorruptException](compaction.run(WorkGate.Open)))
      }
      assert(failure.file.endsWith(damaged))
      assert(!manifests(store).exists(_.version == room.newest))
      val version = room.commit("c" -> Some("d"))
      val target = room.target(version, fromMemory = true)
      val next = room.snapshotter.take(target, compactsBeside = true).manifest
      assert(next.runs.size == 1)
      assert(room.contentOf(next) == room.model(version))
    }
  }

  test("where a file that it merges is damaged, the next snapshot builds on files without it") {
    withRoom(maxRuns = 3) { (room, store) =>
      val compaction = firstCompaction(room)
      val damaged = damageOldest(room, store)
      assertThrows[CorruptException](compaction.run(WorkGate.Open))
      val version = room.commit("a" -> Some("b"))
      val next = room.snapshotter.take(room.target(version), compactsBeside = true).manifest
      assert(!next.fileNames(damaged))
      assert(room.contentOf(next) == room.model(version))
    }
  }

  test("so it is where the snapshot itself was to merge the file") {
    withRoom(maxRuns = 3) { (room, store) =>
      val keys = (1 to 200).map(i => s"key-$i")
      room.commit(keys.map(_ -> Some("a")): _*)
      room.snapshotter.take(room.target(1))
      val damaged = damageOldest(room, store)
      // Changes larger than the state: all is written anew.
      val random = new Random(1)
      room.commit(keys.map(_ -> Some(random.alphanumeric.take(100).mkString)): _*)
      assertThrows[CorruptException](room.snapshotter.take(room.target(2)))
      val version = room.commit("a" -> Some("b"))
      val next = room.snapshotter.take(room.target(version)).manifest
      assert(!next.fileNames(damaged))
      assert(room.contentOf(next) == room.model(version))
    }
  }

  test("its files are known before they are there, until a manifest names them") {
    TempFolder.use { folder =>
      var room: SnapshotRoom = null
      var unknown = Seq.empty[String]
      val memory = new MemoryFileStore
      val store = new WatchedFileStore(
        memory,
        before =
          name => if (name.endsWith(".sst") && !room.snapshotter.inFlight(name)) unknown :+= name
      )
      room = new SnapshotRoom(store, folder, maxRuns = 3)
      Using.resource(room) { _ =>
        val compaction = firstCompaction(room)
        compaction.run(WorkGate.Open)
        val made = room.snapshotter.inFlight
        val version = room.commit("a" -> Some("b"))
        val report = room.snapshotter.take(room.target(version), compactsBeside = true)
        assert(made.nonEmpty && made.subsetOf(report.manifest.fileNames))
        assert(room.snapshotter.inFlight.isEmpty)
        assert(unknown.isEmpty)
      }
    }
  }

  for {
    fault <- Seq(Fault.Before, Fault.After, Fault.Crash)
    restarts <- Seq(false, true)
    spans <- Seq(false, true)
  }
    test(
      s"any call goes wrong ($fault): all manifests are right${if (restarts) ", and after a restart"
        else ""}${if (spans) ", merged by spans" else ""}"
    ) {
      val calls = history(None, restarts, spans)
      assert(calls > 30)
      Seeds
        .oneOf(3, 1 to calls, seed = calls.toLong)
        .foreach(call => history(Some(call -> fault), restarts, spans))
    }

  /** Returns how many calls there were. */
  private def history(failing: Option[(Int, Fault)], restarts: Boolean, spans: Boolean): Int =
    TempFolder.use { folder =>
      val memory = new MemoryFileStore
      val store = new FaultyFileStore(memory)
      val maxMergeBytes = if (spans) 1L else Long.MaxValue
      Using.resource(new SnapshotRoom(store, folder, 2, maxMergeBytes = maxMergeBytes)) { room =>
        var snapshotter = room.snapshotter
        val waiting = ArrayBuffer.empty[Compaction]
        def step(body: => Any): Unit =
          try {
            body
            ()
          } catch {
            case _: BucketstateException =>
              if (restarts) {
                snapshotter = room.newSnapshotter()
                waiting.clear()
              }
            case _: CancellationException => ()
          }
        def content(version: Long) =
          Seq("a", "b", "c").map(k => s"$k-${version % 3}" -> Some(s"$version")) ++
            Seq(s"only $version" -> Some("x")) ++ (if (version > 6)
                                                     Seq(s"only ${version - 5}" -> None)
                                                   else Nil)
        room.commit((1 to 40).map(i => s"key-$i" -> Some("a")): _*)
        (2 to 13).foreach(v => room.commit(content(v.toLong): _*))
        val committed = store.calls
        failing.foreach { case (call, fault) => store.failAt(committed + call, fault) }
        (1 to 12).foreach { v =>
          step {
            waiting ++= snapshotter
              .take(room.target(v.toLong), compactsBeside = true)
              .compaction
          }
          if (v % 2 == 0 && waiting.nonEmpty) step(waiting.remove(0).run(WorkGate.Open))
        }
        step(snapshotter.take(room.target(13), compactsBeside = true))
        val calls = store.calls - committed
        if (!restarts && failing.forall(_._2 == Fault.Before)) {
          snapshotter.discard()
          val failed = failing.fold("")(f => store.log(committed + f._1 - 1))
          // What a manifest was to name whose reply may have been lost is left to retention.
          if (!failed.endsWith(".manifest")) {
            assert(unnamed(memory).size <= (if (failed.startsWith("delete")) 1 else 0), failed)
          }
        }
        // The one fault there was is over.
        snapshotter.take(room.target(13), compactsBeside = true)
        requireRight(room, memory)
        assert(manifests(memory).exists(_.version == 13))
        calls
      }
    }
}
