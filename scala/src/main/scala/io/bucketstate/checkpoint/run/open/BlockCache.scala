package io.bucketstate.checkpoint.run.open

import com.google.common.cache.{Cache, CacheBuilder, RemovalNotification}

import io.bucketstate.checkpoint.io.ByteSlice
import io.bucketstate.checkpoint.run.ReadFigures

/**
 * Data blocks as they were last read, decompressed, of the files of all stores of this process. Guava's cache, which
 * Spark brings along: the least recently used go first, in each of a few segments. Each block's bytes count for its
 * file's store as long as it is here. Thread-safe.
 */
private[run] final class BlockCache {
  import BlockCache._

  @volatile private[this] var blocks: Blocks =
    _ // null until there is one, and while there is no room
  @volatile private[this] var most = 0L

  /** Bytes that it may have. */
  def limit: Long = most

  /** The block at a place in a file, or null. */
  def get(file: OpenRunFile, offset: Long): ByteSlice = {
    val now = blocks
    if (now == null) null else now.getIfPresent(new Place(file, offset))
  }

  def put(file: OpenRunFile, offset: Long, block: ByteSlice): Unit = {
    if (blocks == null && most >= LeastBytes) begin()
    val now = blocks
    if (now != null) {
      val place = new Place(file, offset)
      add(now, place, block)
      // Whoever let all go meanwhile may have done so before this one was there.
      if ((now ne blocks) || file.isGivenUp) now.invalidate(place)
    }
  }

  /** Blocks of files of these figures, or that were given up, leave. O(blocks). */
  def forget(figures: ReadFigures): Unit = {
    val now = blocks
    if (now != null) {
      now.asMap.keySet.removeIf(p => (p.file.figures eq figures) || p.file.isGivenUp)
      ()
    }
  }

  /** Blocks of files that were given up leave. O(blocks). */
  def forgetGivenUp(): Unit = {
    val now = blocks
    if (now != null) {
      now.asMap.keySet.removeIf(_.file.isGivenUp)
      ()
    }
  }

  /** Guava's cache cannot change its size, so another one takes over what it has room for. O(blocks). */
  def resize(bytes: Long): Unit = synchronized {
    most = bytes
    val before = blocks
    if (before != null) {
      val next = if (bytes >= LeastBytes) made(bytes) else null
      if (next != null) before.asMap.forEach((place, block) => add(next, place, block))
      blocks = next
      before.invalidateAll()
    }
  }

  private def begin(): Unit = synchronized {
    if (blocks == null && most >= LeastBytes) blocks = made(most)
  }

  private def add(to: Blocks, place: Place, block: ByteSlice): Unit = {
    place.file.figures.took(weight(block).toLong)
    to.put(place, block)
  }
}

private object BlockCache {
  private type Blocks = Cache[Place, ByteSlice]

  /** Not a case class: a file is itself alone. */
  private final class Place(val file: OpenRunFile, val offset: Long) {
    override def hashCode: Int =
      System.identityHashCode(file) * 31 + java.lang.Long.hashCode(offset)

    override def equals(other: Any): Boolean = other match {
      case that: Place => (that.file eq file) && that.offset == offset
      case _           => false
    }
  }

  /** About what a block takes besides its bytes: the cache's entry and place. */
  private final val EntryBytes = 160

  /** With less it is not worth its while. */
  private final val LeastBytes = 64L * 1024

  /** A segment of less would hold too few blocks to know which are used most. */
  private final val LeastSegment = 1L << 20
  private final val MostSegments = 16L

  private def weight(block: ByteSlice): Int = block.array.length + EntryBytes

  private def made(bytes: Long): Blocks = CacheBuilder
    .newBuilder()
    .concurrencyLevel(math.max(1L, math.min(MostSegments, bytes / LeastSegment)).toInt)
    .maximumWeight(bytes)
    .weigher[Place, ByteSlice]((_, block) => weight(block))
    .removalListener[Place, ByteSlice] { (gone: RemovalNotification[Place, ByteSlice]) =>
      gone.getKey.file.figures.took(-weight(gone.getValue).toLong)
    }
    .build[Place, ByteSlice]()
}
