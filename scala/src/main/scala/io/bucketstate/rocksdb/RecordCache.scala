package io.bucketstate.rocksdb

import java.util.concurrent.atomic.{AtomicInteger, AtomicLong, LongAdder}

import io.bucketstate.record.{BucketAssigner, Record, RecordBuffer}

/**
 * Records of all databases of an executor, outside the heap: what was written or looked up last, so that a look-up need not
 * go through RocksDB's levels. It does what RocksDB's row cache is for, which is of no use to whoever reads snapshots:
 * a row that was cached for one is not found by the next.
 *
 * A *part* is a column family of a database, an *epoch* a moment at which the state of some database was captured. Each
 * record has the epoch from which on it is right; whoever reads at an older one does not find it. Whoever reads a record from
 * the database may add it, unless a newer one was written since the reader's epoch: `RecordShard` says how that is known.
 *
 * Takes memory as it fills, `bytes` at most. What is dropped is what was added longest ago. Thread-safe.
 *
 * @param bytes      outside the heap; so few that they are of no use mean that nothing is kept
 * @param chunkBytes that it takes at once, a power of 2
 */
final class RecordCache private[rocksdb] (val bytes: Long, chunkBytes: Int) extends AutoCloseable {
  import RecordCache._

  def this(bytes: Long) = this(bytes, RecordCache.chunkBytes(bytes))

  private[this] val count = // a power of 2
    Iterator
      .iterate(MostShards)(_ / 2)
      .find(n => n == 1 || bytes / n >= LeastChunks * chunkBytes)
      .get
  private[this] val used = new LongAdder
  private[this] val shards = {
    val chunks = (bytes / count * RingShare / chunkBytes).toInt
    Array.fill(if (chunks < RecordShard.LeastChunks) 0 else count)(
      new RecordShard(chunks, chunkBytes, used.add(_))
    )
  }
  private[this] val parts = new AtomicInteger
  private[this] val epochs = new AtomicLong

  /** Memory that it takes now, in bytes. */
  def usedBytes: Long = used.sum

  /** Gives its memory back at once; nothing is kept any more. Nobody uses it meanwhile: all databases are closed. */
  override def close(): Unit = shards.foreach(_.close())

  /** Names a part that nothing is known of. */
  def newPart(): Int = parts.incrementAndGet()

  /**
   * The state of a database was captured: what is written from now on belongs to its next one. By who writes to that
   * database.
   */
  def capture(): Epoch = new Epoch(epochs.incrementAndGet(), shards.map(_.head))

  /** The record of a key, a new array, or null if it is not known. */
  def find(part: Int, key: RecordBuffer, at: Epoch): Array[Byte] =
    if (shards.length == 0) null
    else {
      val hash = mixed(part, key.hash)
      shards(shardOf(hash)).find(hash, part, key, at.number)
    }

  /** What a key was found to have in the state that was captured then. */
  def found(part: Int, key: RecordBuffer, record: Array[Byte], at: Epoch): Unit =
    if (shards.length > 0) {
      val hash = mixed(part, key.hash)
      val shard = shardOf(hash)
      shards(shard).found(hash, part, record, at.number, at.heads(shard))
    }

  /** A key has this record from the next epoch on. By who writes to its database. */
  def written(part: Int, record: Array[Byte], after: Epoch): Unit =
    write(part, record, isKnown = true, after)

  /** A key has something else from the next epoch on, or nothing. The same. */
  def changed(part: Int, record: Array[Byte], after: Epoch): Unit =
    write(part, record, isKnown = false, after)

  private def write(part: Int, record: Array[Byte], isKnown: Boolean, after: Epoch): Unit =
    if (shards.length > 0) {
      val end = Record.keyEnd(record)
      val hash = mixed(part, Hashing.hash(record, Record.keyStart(record), end).toInt)
      shards(shardOf(hash)).written(hash, part, record, end, isKnown, after.number + 1)
    }

  private def shardOf(hash: Long): Int = hash.toInt & (count - 1)
}

object RecordCache {

  /**
   * @param number they ascend over all databases
   * @param heads  where each shard's ring was written to then
   */
  final class Epoch private[RecordCache] (
      private[RecordCache] val number: Long,
      private[RecordCache] val heads: Array[Long]
  )

  /** Few enough for a small store's first records, and many enough that the chunks of a large one are not many. */
  private def chunkBytes(bytes: Long): Int =
    java.lang.Long.highestOneBit(Math.max(64L << 10, Math.min(1L << 20, bytes / 4096))).toInt

  /** More would share locks less, and take more memory for little. */
  private final val MostShards = 64

  private final val LeastChunks = 8L

  /** The rest is for the index. */
  private final val RingShare = 7.0 / 8

  /** Any number of buckets hashes keys the same way. */
  private val Hashing = new BucketAssigner(1)

  /** @param keyHash the lower half of the key's hash */
  private def mixed(part: Int, keyHash: Int): Long = {
    val h = (((part.toLong << 32) ^ (keyHash & 0xffffffffL)) + 1) * 0x9e3779b97f4a7c15L
    val g = (h ^ (h >>> 32)) * 0xd6e8feb86659fd93L
    g ^ (g >>> 32)
  }
}
