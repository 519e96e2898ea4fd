package io.bucketstate.checkpoint.manifest

import scala.util.Using

import io.bucketstate.table.ColdState
import io.bucketstate.testkit.{ColdStateContract, MemoryFileStore, SnapshotRoom, TempFolder}

/** The runs of a manifest as a cold part: one run or several, files by bucket. */
class ManifestStateSuite extends ColdStateContract(numBuckets = 4) {

  override def withCold(
      history: Seq[Map[String, Option[String]]]
  )(body: ColdState => Unit): Unit = TempFolder.use { folder =>
    Using.resource(new SnapshotRoom(new MemoryFileStore, folder, maxFileBytes = 1)) { room =>
      var manifest: Manifest = null
      history.zipWithIndex.foreach { case (changes, n) =>
        val there = room.model(room.newest)
        room.commit(changes.filter { case (k, v) => v.isDefined || there.contains(k) }.toSeq: _*)
        // Not each time: some runs are of one version and some of several.
        if (n % 3 != 1 || n == history.size - 1)
          manifest = room.snapshotter.take(room.target(room.newest)).manifest
      }
      body(new ManifestState(manifest, () => room.runs.readers, () => fail("no damage")))
    }
  }
}
