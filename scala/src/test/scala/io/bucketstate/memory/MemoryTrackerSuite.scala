package io.bucketstate.memory

import io.bucketstate.config.{ConfigKey, MemoryLimit, SparkHonoured, StoreConfig}
import io.bucketstate.error.InvalidException
import io.bucketstate.record.BucketResidence
import io.bucketstate.testkit.TidySuite

/** One limit for many stores: who gives up how much, and when. */
class MemoryTrackerSuite extends TidySuite {

  private final class Store(@volatile var bytes: Long) extends MemoryUser {
    var asked: Vector[Long] = Vector.empty[Long]
    override def shrink(wanted: Long): Unit = {
      asked :+= wanted
      bytes -= math.min(bytes, wanted)
    }
  }

  private final class Room {
    var now = 0L
    val tracker: MemoryTracker = new MemoryTracker(() => now)
    def store(bytes: Long, limit: Long = 1000): (Store, tracker.Account) = {
      val store = new Store(bytes)
      store -> tracker.register(store, limit, "the setting")
    }
  }

  test("below the limit nothing leaves, above it each gives up its share") {
    val room = new Room
    val (a, accountOfA) = room.store(300)
    val (b, accountOfB) = room.store(600)
    accountOfA.committed()
    accountOfB.committed()
    assert(a.asked.isEmpty && b.asked.isEmpty && room.tracker.total == 900)
    a.bytes = 600
    accountOfA.committed()
    assert(
      a.asked == Seq(125L),
      "half of what is too much, and of what is aimed at below the limit"
    )
    accountOfB.committed()
    assert(b.asked.size == 1)
    accountOfA.committed()
    assert(room.tracker.total <= 1000)
  }

  test("a store that no batch has come to for a minute goes first") {
    val room = new Room
    val (idle, accountOfIdle) = room.store(500)
    accountOfIdle.committed()
    room.now = 61L * 1000 * 1000 * 1000
    val (busy, account) = room.store(700)
    account.committed()
    assert(idle.bytes == 300 && busy.asked.forall(_ <= 0) && room.tracker.total == 1000)
  }

  test("the lowest limit counts, as long as its store is open") {
    val room = new Room
    room.store(0, limit = 1000)
    val (_, strict) = room.store(0, limit = 10)
    assert(room.tracker.limit == 10 && room.tracker.stores == 2)
    strict.close()
    strict.close()
    assert(room.tracker.limit == 1000 && room.tracker.stores == 1)
  }

  test("who only reads lowers the limit of nobody who writes") {
    val room = new Room
    val (_, reader) = room.store(0, limit = 10)
    assert(room.tracker.limit == 10, "there is nobody else")
    val (_, writer) = room.store(0, limit = 1000)
    writer.writing()
    assert(room.tracker.limit == 1000)
    room.store(0, limit = 1)
    assert(room.tracker.limit == 1000 && room.tracker.stores == 3)
    reader.writing()
    assert(room.tracker.limit == 10)
    Seq(reader, writer).foreach(_.close())
    assert(room.tracker.limit == 1)
  }

  test("there is room for what can wait until nine tenths are taken, and never what was not told") {
    val room = new Room
    val (store, account) = room.store(899)
    assert(account.hasRoom(0) && !account.hasRoom(1))
    store.bytes = 900
    assert(!account.hasRoom(0))
    account.close()
    assert(room.tracker.total == 0)
  }

  test("changes that do not fit are refused in the setting's name") {
    val room = new Room
    val (_, account) = room.store(0)
    account.requireRoom(1000)
    val refused = intercept[InvalidException](account.requireRoom(1001))
    assert(refused.getMessage.contains("1001 bytes") && refused.getMessage.contains("the setting"))
  }

  test("changes that only the heap is too small for are refused in its name") {
    val room = new Room
    val heap = HeapLimit.ofChanges(limit = 2000, "the setting", heap = 1000)
    val account = room.tracker.register(new Store(0), 100, "another", changes = Some(heap))
    account.requireRoom(500)
    val refused = intercept[InvalidException](account.requireRoom(501))
    assert(refused.what.contains("500 bytes") && refused.what.contains("half of its 1000"))
    assert(refused.what.contains("less than the setting"))
    assert(refused.remedy.contains("spark.executor.memory"))
    assert(!refused.remedy.contains("that setting"))
    val small = HeapLimit.ofChanges(limit = 500, "the setting", heap = 1000)
    assert(small.bytes == 500 && small.setting == "the setting")
  }

  private def bucket(number: Int, evictable: Long, lastUse: Long, lastEviction: Long) =
    new BucketResidence(0, number, 100, evictable, lastUse, lastEviction)

  test(
    "the least recently used bucket goes first, then the one whose last eviction is longest ago"
  ) {
    val buckets = Seq(
      bucket(0, 10, lastUse = 9, lastEviction = 2),
      bucket(1, 10, lastUse = 9, lastEviction = 1),
      bucket(2, 10, lastUse = 3, lastEviction = 7),
      bucket(3, 0, lastUse = 1, lastEviction = 0),
      bucket(4, 20, lastUse = 9, lastEviction = 1)
    )
    assert(EvictionPolicy.inOrder(buckets, Long.MaxValue).map(_.bucket) == Seq(2, 4, 1, 0))
    assert(EvictionPolicy.inOrder(buckets, inUseFrom = 9).map(_.bucket) == Seq(2))
  }

  test("auto is three quarters of what is to spare, and at least a tenth of the heap") {
    assert(HeapLimit.of(MemoryLimit.Auto, 1000, 400)._1 == 300)
    assert(HeapLimit.of(MemoryLimit.Auto, 1000, 0)._1 == 100)
    assert(HeapLimit.of(MemoryLimit.Share(40), 1000, 0)._1 == 400)
    val (bytes, setting) = HeapLimit.of(MemoryLimit.Bytes(77), 1000, 0)
    assert(bytes == 77 && setting == s"${ConfigKey.MemoryMaxBytes.key}=77")
  }

  private val spark = SparkHonoured(100, 0, -1, 2, 10, "lz4", true, 1, 500, false, false)

  private def parsed(value: String): MemoryLimit =
    StoreConfig.parse(Map(ConfigKey.MemoryMaxBytes.key -> value), spark).maxMemory

  test("the setting takes a share of the heap, bytes, or auto, and nothing else") {
    assert(StoreConfig.parse(Map.empty, spark).maxMemory == MemoryLimit.Auto)
    assert(parsed(" 40% ") == MemoryLimit.Share(40) && parsed("1 %") == MemoryLimit.Share(1))
    assert(parsed("512m") == MemoryLimit.Bytes(512L << 20))
    assert(parsed("1048576") == MemoryLimit.Bytes(1L << 20))
    for (bad <- Seq("0%", "91%", "40", "1k", "-1m", "Auto", "half", "", "9999999999999999999g")) {
      val refused = intercept[InvalidException](parsed(bad))
      assert(refused.getMessage.contains(s"'${bad.trim}'"), bad)
    }
  }
}
