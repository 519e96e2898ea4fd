package io.bucketstate.testkit

import scala.util.Random

import io.bucketstate.table.{StateTable, TableHost}

/** Has room for a bucket at every fourth time that it is asked, as chance will have it. */
final class ChanceOfRoom(random: Random) extends TableHost {
  override def failureOf(cause: Throwable): Throwable = cause
  override def inUse(table: StateTable): Unit = ()
  override def hasRoom(bytes: Long): Boolean = random.nextInt(4) == 0
  override def mayKeep(bytes: Long): Boolean = random.nextBoolean()

  override def requireRoom(bytes: Long): Unit = ()
  override def forEach(count: Int)(load: Int => Unit): Unit = (0 until count).foreach(load)
  override def ahead(task: Runnable): Unit = if (random.nextBoolean()) task.run()
}
