package io.bucketstate.checkpoint.run.open

import io.bucketstate.checkpoint.io.{ByteSlice, NioFileStore, WorkFolder}
import io.bucketstate.checkpoint.run.{LocalRuns, ReadFigures, RunFile}
import io.bucketstate.testkit.{TempFolder, TidySuite}

/** Which blocks stay, and what they count for. */
class BlockCacheSuite extends TidySuite {
  private val BlockBytes = 872 // 1000 with what the cache takes for each

  private final class Room(limit: Long) {
    val cache: BlockCache = new BlockCache
    val figures: ReadFigures = new ReadFigures
    cache.limit(limit)

    def file(of: ReadFigures = figures): OpenRunFile = TempFolder.use { folder =>
      val local = new LocalRuns(new NioFileStore(folder), WorkFolder(folder, temporary = true))
      new OpenRunFile(RunFile("f", 1, 1, 0, Nil, 0), local, new FileHandles, of)
    }

    def put(file: OpenRunFile, offset: Int, isData: Boolean = false): ByteSlice = {
      val bytes = new ByteSlice(new Array[Byte](BlockBytes), 0, BlockBytes)
      cache.put(file, offset.toLong, bytes, isData)
      bytes
    }

    def there(file: OpenRunFile, offsets: Range): Seq[Int] =
      offsets.filter(n => cache.get(file, n.toLong) != null)
  }

  test("a block is found by its file and its place, as the first one put it") {
    val room = new Room(100_000)
    val (a, b, other) = (room.file(), room.file(), room.file())
    val blocks = for {
      file <- Seq(a, b)
      offset <- 0 to 9
    } yield (file, offset, room.put(file, offset))
    blocks.foreach { case (file, offset, block) =>
      room.put(file, offset)
      assert(room.cache.get(file, offset.toLong) eq block)
    }
    assert(room.cache.get(other, 1) == null && room.cache.get(a, 10) == null)
    assert(room.figures.heapBytes == 20_000 && room.cache.partBytes == 20_000)
    Seq(a, b, other).foreach(_.close())
  }

  test("the oldest go first, but those that were used stay for another turn") {
    val room = new Room(10_000)
    val file = room.file()
    (0 until 10).foreach(room.put(file, _))
    assert(room.there(file, 3 to 4) == Seq(3, 4))
    (10 until 18).foreach(room.put(file, _))
    assert(room.figures.heapBytes == 10_000)
    assert(room.there(file, 0 until 18) == Seq(3, 4) ++ (10 until 18))
    file.close()
  }

  test("data has a quarter, and makes room for parts of indexes and filters") {
    val room = new Room(20_000)
    val (parts, data) = (room.file(), room.file())
    (0 until 9).foreach(room.put(data, _, isData = true))
    assert(room.figures.heapBytes == 5000 && room.there(data, 0 until 9) == (4 until 9))
    (0 until 30).foreach(room.put(parts, _))
    assert(room.there(data, 0 until 9).isEmpty && room.there(parts, 0 until 30) == (10 until 30))
    room.put(data, 1, isData = true)
    assert(room.there(data, 0 until 9).isEmpty, "it is not worth a part")
    room.cache.holds(parts, 5000)
    assert(room.figures.heapBytes == 20_000 && room.there(parts, 0 until 30).size == 15)
    room.cache.gaveBack(parts, 5000)
    assert(room.figures.heapBytes == 15_000)
    Seq(parts, data).foreach(_.close())
  }

  test("another limit holds at once") {
    val room = new Room(0)
    val file = room.file()
    room.put(file, 0)
    assert(room.figures.heapBytes == 0)
    room.cache.limit(8000)
    (0 until 8).foreach(n => room.put(file, n, isData = n < 2))
    room.cache.limit(3000)
    assert(room.figures.heapBytes == 3000 && room.there(file, 0 until 8) == (5 until 8))
    room.cache.limit(0)
    assert(room.figures.heapBytes == 0 && room.there(file, 0 until 8).isEmpty)
    file.close()
  }

  test("a file that was given up keeps nothing, nor does a store that is closed") {
    val room = new Room(100_000)
    val other = new ReadFigures
    val (gone, kept, others) = (room.file(), room.file(), room.file(other))
    for (file <- Seq(gone, kept, others)) (0 until 6).foreach(n => room.put(file, n, n % 2 == 0))
    gone.close()
    room.cache.forgetGivenUp()
    room.put(gone, 7)
    assert(room.there(gone, 0 until 8).isEmpty && room.figures.heapBytes == 6000)
    room.cache.forget(room.figures)
    assert(room.there(kept, 0 until 8).isEmpty && room.figures.heapBytes == 0)
    assert(room.there(others, 0 until 8) == (0 until 6) && other.heapBytes == 6000)
    Seq(kept, others).foreach(_.close())
  }
}
