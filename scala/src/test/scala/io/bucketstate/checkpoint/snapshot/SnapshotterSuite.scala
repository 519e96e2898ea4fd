package io.bucketstate.checkpoint.snapshot

import java.util.UUID
import java.util.concurrent.CountDownLatch

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}
import scala.util.{Random, Using}

import io.bucketstate.background.WorkGate
import io.bucketstate.checkpoint.changelog.ChangelogFamily
import io.bucketstate.checkpoint.io.{Attempt, ManifestName}
import io.bucketstate.checkpoint.manifest.Manifests
import io.bucketstate.checkpoint.records.BucketSource
import io.bucketstate.error.{ConflictException, MissingException}
import io.bucketstate.record.RecordSink
import io.bucketstate.testkit.{
  Changes,
  MemoryFileStore,
  Seeds,
  SnapshotRoom,
  TempFolder,
  TidySuite,
  WatchedFileStore
}

/** Snapshots from changelogs, runs and memory, and what protects their files while they are made. */
class SnapshotterSuite extends TidySuite {

  private def changes(random: Random): Seq[(String, Option[String])] =
    Seq
      .fill(1 + random.nextInt(12)) {
        s"key-${random.nextInt(30)}" -> Option.when(random.nextInt(4) > 0)(s"${random.nextLong()}")
      }
      .toMap
      .toSeq

  /** A removal of what is not there is no change. */
  private def commit(room: SnapshotRoom, random: Random): Long = {
    val now = room.model(room.newest)
    room.commit(changes(random).filter { case (k, v) => v.isDefined || now.contains(k) }: _*)
  }

  for (seed <- 1 to Seeds.of(6))
    test(s"whatever goes into a snapshot, its runs hold the state of its version, seed $seed") {
      val random = new Random(seed.toLong)
      TempFolder.use { folder =>
        val store = new MemoryFileStore
        val maxFileBytes = if (random.nextBoolean()) 1L else Long.MaxValue
        Using.resource(new SnapshotRoom(store, folder, 1 + random.nextInt(4), maxFileBytes)) { room =>
          (1 to 25).foreach { _ =>
            (0 to random.nextInt(3)).foreach(_ => commit(room, random))
            val target = room.target(room.newest, fromMemory = random.nextBoolean())
            val report = room.snapshotter.take(target)
            val read = new Manifests(store).read(ManifestName(Attempt(room.newest)))
            assert(read == report.manifest)
            assert(room.contentOf(read) == room.model(room.newest))
          }
        }
      }
    }

  test(
    "a version that stands alone is not replaced by a snapshot of an attempt at it that was given up"
  ) {
    TempFolder.use { folder =>
      val store = new MemoryFileStore
      Using.resource(new SnapshotRoom(store, folder)) { room =>
        val version = room.commit("a" -> Some("given up"))
        val (begun, goOn) = (new CountDownLatch(1), new CountDownLatch(1))
        val gate = new WorkGate {
          def begin(records: Long): Unit = begun.countDown()
          def pass(): Unit = goOn.await()
        }
        val older = Future(room.snapshotter.take(room.target(version), gate = gate))
        begun.await()
        val state = AloneState(
          Attempt(version),
          new UUID(1, 1),
          Seq(ChangelogFamily(Changes.descriptor(0), Some(0L))),
          nextFamily = 1,
          records = new BucketSource {
            def families: Iterable[Int] = Nil
            def read(family: Int, bucket: Int, sink: RecordSink): Unit = ()
          }
        )
        val alone = Future(room.snapshotter.alone(state, mayReplace = true))
        Thread.`yield`()
        goOn.countDown()
        Await.result(older, 60.seconds)
        val made = Await.result(alone, 60.seconds)
        assert(new Manifests(store).read(ManifestName(Attempt(version))) == made)
        assert(!store.exists(Attempt(version).changelog))
        assert(room.contentOf(made).isEmpty)
      }
    }
  }

  test("the files of a snapshot in the making are in flight until its manifest is there") {
    TempFolder.use { folder =>
      var inFlight = Seq.empty[(String, Set[String])]
      var room: SnapshotRoom = null
      val store = new WatchedFileStore(
        new MemoryFileStore,
        before =
          name => inFlight :+= name -> Option(room).fold(Set.empty[String])(_.snapshotter.inFlight)
      )
      room = new SnapshotRoom(store, folder, maxFileBytes = 1)
      Using.resource(room) { _ =>
        room.commit((1 to 20).map(i => s"$i" -> Some("a")): _*)
        inFlight = Nil
        val report = room.snapshotter.take(room.target(1))
        val files = report.manifest.fileNames
        assert(files.size > 1)
        // A retention that looks now lists the files afterwards: a name must be known before its file is.
        inFlight.foreach { case (name, known) => if (files(name)) assert(known(name), name) }
        assert(inFlight.last._1 == report.manifest.file.name)
        assert(files.subsetOf(inFlight.last._2))
        assert(room.snapshotter.inFlight.isEmpty)
      }
    }
  }

  test("a new file that is gone before its manifest is written: that is not published") {
    TempFolder.use { folder =>
      val memory = new MemoryFileStore
      var victims = 1
      val store = new WatchedFileStore(
        memory,
        after = name =>
          if (name.endsWith(".sst") && victims > 0) {
            victims -= 1
            memory.delete(name)
          }
      )
      Using.resource(new SnapshotRoom(store, folder, maxFileBytes = 1)) { room =>
        room.commit((1 to 20).map(i => s"$i" -> Some("a")): _*)
        assertThrows[MissingException](room.snapshotter.take(room.target(1)))
        assert(!memory.exists(ManifestName(Attempt(1)).name))
        assert(memory.list("runs").isEmpty)
        assert(room.snapshotter.inFlight.isEmpty)
        val second = room.snapshotter.take(room.target(1))
        assert(room.contentOf(second.manifest) == room.model(1))
      }
    }
  }

  test("where memory knows better than the files, a snapshot is made of memory or not at all") {
    TempFolder.use { folder =>
      Using.resource(new SnapshotRoom(new MemoryFileStore, folder)) { room =>
        (1 to 4).foreach(n => room.commit("a" -> Some(s"$n"), s"only $n" -> Some("x")))
        room.replace(3)
        assertThrows[ConflictException](room.snapshotter.take(room.target(4)))
        val report = room.snapshotter.take(room.target(4, fromMemory = true))
        assert(room.contentOf(report.manifest) == room.model(4))
      }
    }
  }
}
