package io.bucketstate.table

import io.bucketstate.table.cold.{BucketLoader, TableLoading}
import io.bucketstate.testkit.TidySuite

/** How often a table asks whether there is room while its buckets are loaded. */
class RoomCountedSuite extends TidySuite {
  private final class Room(var left: Long) extends TableHost {
    var asked = 0
    override def hasRoom(bytes: Long): Boolean = {
      asked += 1
      bytes <= left
    }
    override def failureOf(cause: Throwable): Throwable = cause
    override def inUse(table: StateTable): Unit = ()
    override def mayKeep(bytes: Long): Boolean = true
    override def requireRoom(bytes: Long): Unit = ()
    override def forEach(count: Int)(load: Int => Unit): Unit = (0 until count).foreach(load)
    override def ahead(task: Runnable): Unit = ()
  }

  private def loading(room: Room) = new TableLoading(BucketLoader.Empty, room, 8, () => ())

  test("where there was room for all, it is counted again for some buckets together") {
    val room = new Room(1000)
    val asking = loading(room)
    assert((1000 to 1 by -1).forall(bytes => asking.hasRoom(bytes.toLong)))
    assert(room.asked <= 1000 / TableLoading.BucketsPerCount + 1)
  }

  test("room that is gone is noticed within some buckets, and is not taken for there again") {
    val room = new Room(1000)
    val asking = loading(room)
    assert(asking.hasRoom(1000))
    room.left = 10
    val answers = (1 to TableLoading.BucketsPerCount + 1).map(_ => asking.hasRoom(500))
    assert(!answers.last)
    assert((1 to 100).forall(_ => !asking.hasRoom(500)))
    room.left = 500
    assert(asking.hasRoom(500), "and room that is there again at once")
  }

  test("more than there was room for is counted at once") {
    val room = new Room(1000)
    val asking = loading(room)
    assert(asking.hasRoom(1000))
    assert(!asking.hasRoom(1001))
  }
}
