package io.bucketstate.table

import io.bucketstate.record.{BucketAssigner, ColdState}
import io.bucketstate.testkit.{ColdStateContract, MapCold}

/** The cold part that other suites go by does what one has to do. */
class MapColdSuite extends ColdStateContract(numBuckets = 3) {

  override def withCold(
      history: Seq[Map[String, Option[String]]]
  )(body: ColdState => Unit): Unit = {
    val content = history.flatten.foldLeft(Map.empty[String, String]) {
      case (model, (key, value)) => model.updatedWith(key)(_ => value)
    }
    body(new MapCold(history.size.toLong, content, new BucketAssigner(3)))
  }
}
