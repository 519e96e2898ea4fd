package io.bucketstate.memory

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import io.bucketstate.error.InvalidException

/** A store's state in memory, as the limit sees it. */
trait MemoryUser {

  /** Heap it takes now, an estimate. Any thread. */
  def bytes: Long

  /**
   * Lets go of what files have, too, until about so many bytes are free or nothing more can go. Does nothing
   * while a task writes. Any thread.
   */
  def shrink(bytes: Long): Unit
}

/**
 * Heap that the state of all stores of this process takes, held against a limit: the sum of what they last
 * told. Thread-safe; what it is told with each batch costs the same for every number of stores, unless the sum is
 * above the limit.
 *
 * The idea is that of Flink's managed memory and of Spark's bounded RocksDB memory: one budget for all stores of
 * an executor, because nobody can say beforehand which will need it.
 *
 * @param nanos a clock for durations
 */
final class MemoryTracker(nanos: () => Long) {
  import MemoryTracker._

  private[this] val accounts = ConcurrentHashMap.newKeySet[Account]()
  private[this] val sum = new AtomicLong
  @volatile private[this] var lowest = Limit.None

  /** Bytes of all stores. */
  def total: Long = sum.get

  /**
   * Bytes they may have: the least that one of those was opened with that are written to. Whoever only reads state may have
   * other settings than the queries beside it; where nobody writes, the least of all.
   */
  def limit: Long = lowest.bytes

  def stores: Int = accounts.size

  /**
   * A store begins to count.
   *
   * @param limit   bytes that all stores may have
   * @param setting what the limit was made of, for messages
   * @param changes what one version may change, where that is not held against the limit itself
   */
  def register(
      user: MemoryUser,
      limit: Long,
      setting: String,
      changes: Option[Limit] = None
  ): Account = {
    val account = new Account(user, Limit(limit, setting), changes)
    accounts.add(account)
    newLimit()
    account
  }

  private def newLimit(): Unit = accounts.synchronized {
    val all = accounts.asScala
    val deciding = if (all.exists(_.isWritten)) all.filter(_.isWritten) else all
    lowest = deciding.iterator.map(_.own).minByOption(_.bytes).getOrElse(Limit.None)
  }

  /** What one store has told of itself. */
  final class Account private[MemoryTracker] (
      user: MemoryUser,
      private[memory] val own: Limit,
      mostChanges: Option[Limit]
  ) {
    private[this] val reported = new AtomicLong
    @volatile private[MemoryTracker] var lastUse: Long = nanos()
    @volatile private[this] var closed = false
    @volatile private[MemoryTracker] var isWritten = false

    /** The store is written to: its limit counts. */
    def writing(): Unit = if (!isWritten) {
      isWritten = true
      newLimit()
    }

    /** Whether so many bytes more may be taken in that need not be there. */
    def hasRoom(bytes: Long): Boolean = {
      tell()
      total + bytes < limit * Room
    }

    /** Throws when one version's changes are more than may be in memory. */
    def requireRoom(changes: Long): Unit = {
      val allowed = mostChanges.getOrElse(lowest)
      if (changes > allowed.bytes) throw tooLarge(changes, allowed)
    }

    /** A version was committed. Where there is too much in memory now, some of it leaves. */
    def committed(): Unit = {
      lastUse = nanos()
      tell()
      if (total > limit) {
        idle.foreach(other => if (total > limit) other.shrinkBy(total - limit))
        if (total > limit) shrinkBy(EvictionPolicy.shareOf(reported.get, total, limit))
      }
    }

    /** Whether there is too much all the same. */
    def isShort: Boolean = total > limit

    /** Takes the sum as it is now. */
    def tell(): Unit = {
      set(user.bytes)
      // What another thread has just asked for must not stay in the sum for ever.
      if (closed) set(0L)
    }

    /** The store does not count any more. */
    def close(): Unit = {
      closed = true
      accounts.remove(this)
      set(0L)
      newLimit()
    }

    private[MemoryTracker] def shrinkBy(bytes: Long): Unit = {
      user.shrink(bytes)
      tell()
    }

    private def set(bytes: Long): Unit = {
      sum.addAndGet(bytes - reported.getAndSet(bytes))
      ()
    }

    /** Stores that no batch has come to for long, the longest first. */
    private def idle: Seq[Account] = {
      val since = nanos() - IdleNanos
      accounts.asScala.iterator
        .filter(other => (other ne this) && other.lastUse - since < 0)
        .toSeq
        .sortBy(_.lastUse - since)
    }
  }
}

object MemoryTracker {

  /** Loads that can wait stop at this share of the limit. */
  private final val Room = 0.9

  private final val IdleNanos = 60L * 1000 * 1000 * 1000

  /**
   * @param setting what the bytes were made of, for messages
   * @param more    what to do to have more, for messages
   */
  final case class Limit(
      bytes: Long,
      setting: String,
      more: String = "raise that setting, and the heap with it"
  )

  private[memory] object Limit {
    val None: Limit = Limit(Long.MaxValue, "")
  }

  private def tooLarge(changes: Long, limit: Limit): InvalidException =
    new InvalidException(
      s"One batch changed $changes bytes of state in one partition, and has not ended, but it may take " +
        s"${limit.bytes} bytes of this executor's heap at most (${limit.setting})",
      "Let a batch read less (maxFilesPerTrigger, maxOffsetsPerTrigger), use more partitions, or " +
        s"${limit.more}. Nothing of the batch was committed."
    )
}
