package io.bucketstate.rocksdb.state

import org.rocksdb.{Cache, HyperClockCache, RateLimiter, WriteBufferManager}

import io.bucketstate.checkpoint.io.Closing
import io.bucketstate.rocksdb.{NativeLibrary, RecordCache, SharedNative}

/**
 * What all databases of this process share: made for the first store that needs it, and closed with the last. So one
 * budget holds for all, however many stores there are: the idea of Flink's managed memory, and of Spark's bounded memory
 * for its own RocksDB provider. Thread-safe.
 */
object ExecutorNative {

  /**
   * What a store asks for. The first one decides: what is shared cannot be made smaller or larger.
   *
   * @param bytes          outside the heap, for all databases
   * @param bytesPerSecond that they write to local disks
   */
  final case class Limits(bytes: Long, bytesPerSecond: Long)

  /**
   * What records may take, in percent; the rest is for blocks, filters, indexes and write buffers. A record that is held by
   * itself is found in a tenth of the time, and takes no neighbours along.
   */
  private final val RecordShare = 80

  private[this] var shared: Objects = _
  private[this] var users = 0

  /** Native memory that all databases take for blocks, records and what they have not written to files, in bytes. */
  def usedBytes: Long = synchronized(
    if (shared == null) 0L else shared.cache.getUsage + shared.records.usedBytes
  )

  def stores: Int = synchronized(users)

  /** For one store, which gives it back when its databases are closed. */
  def join(limits: Limits): Lease = synchronized {
    if (shared == null) shared = new Objects(limits)
    val lease = new Lease(shared)
    users += 1
    lease
  }

  private def leave(): Unit = synchronized {
    users -= 1
    if (users == 0) {
      val last = shared
      shared = null
      last.close()
    }
  }

  /** The part of one store. */
  final class Lease private[ExecutorNative] (objects: Objects)
      extends SharedNative
      with AutoCloseable {
    private[this] var closed = false

    override def cache: Cache = objects.cache
    override def records: RecordCache = objects.records
    override def writeBuffers: WriteBufferManager = objects.writeBuffers
    override def rateLimiter: RateLimiter = objects.rateLimiter

    override def close(): Unit = {
      val isFirst = synchronized {
        val first = !closed
        closed = true
        first
      }
      if (isFirst) leave()
    }
  }

  private[rocksdb] final class Objects(limits: Limits) extends SharedNative with AutoCloseable {
    NativeLibrary.require()

    override val records: RecordCache = new RecordCache(limits.bytes / 100 * RecordShare)

    private[this] val forBlocks = limits.bytes - limits.bytes / 100 * RecordShare

    // Look-ups take no lock in it, which are several for each that gets so far.
    override val cache: Cache = new HyperClockCache(forBlocks, 0L, -1, false)

    // Counted in the cache, so that one number bounds both.
    override val writeBuffers: WriteBufferManager = new WriteBufferManager(forBlocks / 2, cache)
    override val rateLimiter: RateLimiter = new RateLimiter(limits.bytesPerSecond)

    override def close(): Unit = Closing.all(Seq(rateLimiter, writeBuffers, cache, records))
  }
}
