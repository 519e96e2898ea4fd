package io.bucketstate.checkpoint.run.open

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import io.bucketstate.checkpoint.run.{ColdReads, ReadFigures}

/**
 * What all stores of a process may take together to read runs.
 *
 * @param cacheBytes   heap of indexes, filters and cached blocks
 * @param maxOpenFiles handles
 */
final case class ReadLimits(cacheBytes: Long, maxOpenFiles: Int)

object ReadLimits {
  val None: ReadLimits = ReadLimits(Long.MaxValue, Int.MaxValue)
}

/** Where the stores of a process read their runs together: one cache, one limit on open files. Thread-safe. */
final class SharedReads {
  private[run] val cache = new BlockCache
  private[run] val handles = new FileHandles
  private[this] val members = ConcurrentHashMap.newKeySet[StoreReads]()

  /**
   * A store reads with the others from now on. Of the limits of those that are written to the least count, and of all
   * where none is: whoever only reads may have other settings than the queries beside it.
   */
  def join(limits: ReadLimits): StoreReads = {
    val store = new StoreReads(this, limits)
    members.add(store)
    newLimits()
    store
  }

  /** Stores whose limits hold for all. */
  def stores: Int = members.size

  /** Handles that runs' files of all stores have open. */
  def openFiles: Int = handles.count

  private[run] def leave(store: StoreReads): Unit = {
    members.remove(store)
    newLimits()
  }

  private[run] def newLimits(): Unit = members.synchronized {
    val all = members.asScala
    val deciding = (if (all.exists(_.isWritten)) all.filter(_.isWritten) else all).map(_.limits)
    if (deciding.nonEmpty) {
      cache.limit(deciding.map(_.cacheBytes).min)
      handles.limit(deciding.map(_.maxOpenFiles).min)
    }
  }
}

object SharedReads {

  /** The reads of all queries of this process. */
  val OfProcess: SharedReads = new SharedReads

  /** For who reads beside all others, without limits. */
  def alone(): StoreReads = new SharedReads().join(ReadLimits.None)
}

/** One store's part of it. Thread-safe. */
final class StoreReads private[run] (
    shared: SharedReads,
    private[run] val limits: ReadLimits
) extends AutoCloseable {
  @volatile private[run] var isWritten = false
  private[run] val figures = new ReadFigures

  private[run] def cache: BlockCache = shared.cache

  private[run] def handles: FileHandles = shared.handles

  /** The store is written to: its limits count. */
  def writing(): Unit = if (!isWritten) {
    isWritten = true
    shared.newLimits()
  }

  /** Indexes, filters and cached blocks of its files, in bytes. */
  def heapBytes: Long = figures.heapBytes

  /** Look-ups since the last call. */
  def drain(): ColdReads = figures.drain()

  /** Its limits do not count any more. */
  def close(): Unit = shared.leave(this)
}
