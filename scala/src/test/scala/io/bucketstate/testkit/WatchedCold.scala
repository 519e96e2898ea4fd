package io.bucketstate.testkit

import io.bucketstate.record.ColdState

/** A cold part that refuses to answer once nobody may need it any more. */
trait WatchedCold extends ColdState {

  /** It was released, or should have been. */
  @volatile var isClosed = false

  protected def requireOpen(): Unit = assert(!isClosed, s"the cold part at $version was given up")

  override def release(): Unit = isClosed = true
}
