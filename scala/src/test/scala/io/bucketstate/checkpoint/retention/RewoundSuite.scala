package io.bucketstate.checkpoint.retention

import java.time.Clock

import scala.util.Using

import io.bucketstate.testkit.{MemoryFileStore, SnapshotRoom, TempFolder, TidySuite}

/** Maintenance of a run whose query was taken back to an older batch, and goes on from there. */
class RewoundSuite extends TidySuite {

  test("a store whose newest version is gone deletes nothing") {
    TempFolder.use { folder =>
      val store = new MemoryFileStore
      Using.resource(new SnapshotRoom(store, folder)) { room =>
        (1 to 6).foreach(n => room.commit("a" -> Some(s"$n")))
        room.snapshotter.take(room.target(6))
        val before = store.list().map(_.name).toSet
        // Of a run that had come to version 9 before the query was taken back.
        val of = new Retention(store, Clock.systemUTC, RetentionRules(1))
        assert(of.run(latest = 9) == RetentionReport(Nil, Nil))
        assert(store.list().map(_.name).toSet == before)
        assert(
          of.run(latest = 6).deleted.map(_.name).toSet == (1 to 5).map(n => s"$n.changelog").toSet
        )
      }
    }
  }
}
