package io.bucketstate.table

import io.bucketstate.record.{BucketAssigner, ColdState}
import io.bucketstate.testkit.{ColdStateContract, MapCold, SnapshotRoom}

/** The cold part that other suites go by does what one has to do. */
class MapColdSuite extends ColdStateContract(numBuckets = 3, familyCount = 1) {

  override def withCold(
      history: Seq[Map[String, Option[String]]]
  )(body: ColdState => Unit): Unit = {
    val content = history.foldLeft(Map.empty[String, String])(SnapshotRoom.after(_, _))
    body(new MapCold(history.size.toLong, content, new BucketAssigner(3)))
  }
}
