package io.bucketstate.checkpoint.retention

import java.time.Clock

import scala.util.Using

import io.bucketstate.checkpoint.io.{Attempt, ManifestName}
import io.bucketstate.checkpoint.manifest.{Manifest, ManifestTrust, RepairRules}
import io.bucketstate.checkpoint.recovery.Recovery
import io.bucketstate.error.CorruptException
import io.bucketstate.testkit.{MemoryFileStore, SnapshotRoom, StoreHarness, TempFolder, TidySuite}

/** What damage that is known keeps from being deleted, and what was replaced. */
class DamagedBaseSuite extends TidySuite {

  private def withRoom(body: (SnapshotRoom, MemoryFileStore) => Unit): Unit =
    TempFolder.use { folder =>
      val store = new MemoryFileStore
      Using.resource(new SnapshotRoom(store, folder))(body(_, store))
    }

  /** Versions 1 and 2, each with its manifest; that of the second. */
  private def twoManifests(room: SnapshotRoom): Manifest = {
    room.commit("a" -> Some("1"), "b" -> Some("1"))
    room.snapshotter.take(room.target(1))
    room.commit("c" -> Some("2"))
    val second = room.snapshotter.take(room.target(2)).manifest
    assert(second.runs.size == 2)
    second
  }

  /** A manifest of version 4 that needs no file of those before. */
  private def wholeFourth(room: SnapshotRoom): Unit = {
    room.commit("e" -> Some("4"))
    room.snapshotter.startFrom(None, doubtsFiles = true)
    val fourth = room.snapshotter.take(room.target(4, fromMemory = true)).manifest
    assert(fourth.runs.size == 1)
  }

  /** The last one that was written of a manifest's files. */
  private def newestFile(manifest: Manifest): String = manifest.runs.head.files.head.name

  private def damageIn(manifest: Manifest) =
    new CorruptException(s"memory:/${newestFile(manifest)}", "a test", "")

  test("nothing goes for the sake of a manifest that names a file which is known to be damaged") {
    withRoom { (room, store) =>
      val second = twoManifests(room)
      room.commit("d" -> Some("3"))
      val before = store.list().map(_.name).toSet
      val trust = new ManifestTrust
      val retention = new Retention(store, Clock.systemUTC, RetentionRules(1), trust)
      trust.failed(second.file, damageIn(second))
      assert(retention.run(3).deleted.map(_.name) == Seq("1.changelog"))
      // Where the next snapshot does without the file, all goes that it made needless.
      wholeFourth(room)
      val _ = retention.run(4)
      val left = store.list().map(_.name).toSet
      assert(left == Set("4.changelog", ManifestName(Attempt(4)).name))
      assert(before.intersect(left).isEmpty)
    }
  }

  /**
   * A version up to 3 is held and the manifest of version 2 of no use, while the newest versions begin with that of version 4:
   * what leads to the version that is held from the manifest of version 1 stays.
   *
   * @param gone what goes all the same
   */
  private def requireHeld(
      room: SnapshotRoom,
      store: MemoryFileStore,
      trust: ManifestTrust,
      version: Long = 3,
      gone: Set[String] = Set("1.changelog", "4.changelog")
  ): Unit = {
    room.commit("f" -> Some("5"))
    val held = () => Seq(Pinned(version, WinningIds.WithoutIds))
    val retention = new Retention(store, Clock.systemUTC, RetentionRules(1), trust)
    val report = retention.run(5, pinned = held)
    val recovery = new Recovery(room.newCheckpoint(), RepairRules(enabled = true, 1, 1000))
    val table = recovery.load(version, None).table
    assert(StoreHarness.contents(table, version) == room.model(version))
    assert(report.failed.isEmpty && report.unreadable.isEmpty)
    assert(report.deleted.map(_.name).toSet == gone)
    // It goes when nobody holds it any more.
    val _ = retention.run(5)
    val left = store.list().map(_.name).toSet
    assert(left == Set("5.changelog", ManifestName(Attempt(4)).name))
  }

  test("a version that is held keeps what leads to it beside a damaged manifest") {
    withRoom { (room, store) =>
      val second = twoManifests(room)
      room.commit("d" -> Some("3"), "a" -> None)
      wholeFourth(room)
      val name = newestFile(second)
      store.put(name, store.read(name).dropRight(1))
      val trust = new ManifestTrust
      trust.failed(second.file, damageIn(second))
      requireHeld(room, store, trust)
    }
  }

  test("a version that is held keeps what leads to it beside a stale manifest") {
    withRoom { (room, store) =>
      val _ = twoManifests(room)
      room.retry("c" -> Some("another 2"))
      room.commit("d" -> Some("3"), "a" -> None)
      wholeFourth(room)
      requireHeld(room, store, new ManifestTrust)
    }
  }

  /** Versions 1 to 4, of which 1, 2 and 4 have manifests, and a changelog of which nothing is left. */
  private def withEmptied(changelog: String)(body: (SnapshotRoom, MemoryFileStore) => Unit): Unit =
    withRoom { (room, store) =>
      val _ = twoManifests(room)
      room.commit("d" -> Some("3"), "a" -> None)
      wholeFourth(room)
      store.put(changelog, Array.emptyByteArray)
      body(room, store)
    }

  test("a version that is held keeps what leads to it beside a manifest with a damaged changelog") {
    withEmptied("2.changelog") { (room, store) =>
      // The manifest of version 1 goes by the same changelog: so the version has no base, and all stays that leads to it.
      requireHeld(room, store, new ManifestTrust, gone = Set("4.changelog"))
    }
  }

  test("a version that is held keeps what leads to it where the changelog behind it is damaged") {
    withEmptied("3.changelog") { (room, store) =>
      val gone = Set("1.changelog", "3.changelog", "4.changelog")
      requireHeld(room, store, new ManifestTrust, version = 2, gone)
    }
  }

  test("nothing goes while a changelog is of a newer format") {
    withRoom { (room, store) =>
      val _ = twoManifests(room)
      val newer = store.read("2.changelog")
      newer(8) = 3 // the format of a changelog, behind the eight bytes that all begin with
      store.put("2.changelog", newer)
      room.commit("d" -> Some("3"))
      val before = store.list().map(_.name).toSet
      val retention = new Retention(store, Clock.systemUTC, RetentionRules(1))
      assert(intercept[CorruptException](retention.run(3)).isNewer)
      assert(store.list().map(_.name).toSet == before)
    }
  }
}
