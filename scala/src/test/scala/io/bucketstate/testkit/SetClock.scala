package io.bucketstate.testkit

import java.time.{Clock, Instant, ZoneId, ZoneOffset}

/** A clock that shows what it is set to. */
final class SetClock(start: Instant) extends Clock {
  @volatile private var shown = start

  def set(instant: Instant): Unit = shown = instant

  override def instant(): Instant = shown
  override def getZone: ZoneId = ZoneOffset.UTC
  override def withZone(zone: ZoneId): Clock = this
}
