package io.bucketstate.checkpoint.manifest

import io.bucketstate.record.ColdState
import io.bucketstate.testkit.{ColdStateContract, SnapshotRoom, TempFolder}

/** The runs of a manifest as a cold part: one run or several, files by bucket. */
class ManifestStateSuite extends ColdStateContract(numBuckets = 4) {

  override def withCold(
      history: Seq[Map[String, Option[String]]]
  )(body: ColdState => Unit): Unit = TempFolder.use { folder =>
    SnapshotRoom.withHistory(folder, history) { (room, manifest) =>
      body(new ManifestState(manifest, () => room.runs.readers, _ => fail("no damage")))
    }
  }
}
