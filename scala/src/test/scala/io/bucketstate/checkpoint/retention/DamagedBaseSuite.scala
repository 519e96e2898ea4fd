package io.bucketstate.checkpoint.retention

import java.time.Clock

import scala.util.Using

import io.bucketstate.checkpoint.io.{Attempt, ManifestName}
import io.bucketstate.checkpoint.manifest.ManifestTrust
import io.bucketstate.error.CorruptException
import io.bucketstate.testkit.{MemoryFileStore, SnapshotRoom, TempFolder, TidySuite}

/** What damage that is known keeps from being deleted. */
class DamagedBaseSuite extends TidySuite {

  test("nothing goes for the sake of a manifest that names a file which is known to be damaged") {
    TempFolder.use { folder =>
      val store = new MemoryFileStore
      Using.resource(new SnapshotRoom(store, folder)) { room =>
        room.commit("a" -> Some("1"), "b" -> Some("1"))
        room.snapshotter.take(room.target(1))
        room.commit("c" -> Some("2"))
        val second = room.snapshotter.take(room.target(2)).manifest
        room.commit("d" -> Some("3"))
        val before = store.list().map(_.name).toSet
        assert(second.runs.size == 2)
        val trust = new ManifestTrust
        val retention = new Retention(store, Clock.systemUTC, RetentionRules(1), trust)
        val newest = s"memory:/${second.runs.head.files.head.name}"
        trust.failed(second.file, new CorruptException(newest, "a test", ""))
        assert(retention.run(3).deleted.map(_.name) == Seq("1.changelog"))
        // Where the next snapshot does without the file, all goes that it made needless.
        room.commit("e" -> Some("4"))
        room.snapshotter.startFrom(None, doubtsFiles = true)
        room.snapshotter.take(room.target(4, fromMemory = true))
        val _ = retention.run(4)
        val left = store.list().map(_.name).toSet
        assert(left == Set("4.changelog", ManifestName(Attempt(4)).name))
        assert(before.intersect(left).isEmpty)
      }
    }
  }
}
