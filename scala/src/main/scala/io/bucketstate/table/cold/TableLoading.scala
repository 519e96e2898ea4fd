package io.bucketstate.table.cold

import java.util.concurrent.atomic.{AtomicBoolean, AtomicInteger, LongAdder}
import java.util.concurrent.locks.ReentrantLock

import io.bucketstate.error.UnavailableException
import io.bucketstate.table.scan.ReadAhead

/**
 * What the families of a table share while buckets are loaded. Thread-safe.
 *
 * @param inUse told once, of the first use; see `TableHost.inUse`
 */
private[table] final class TableLoading(
    val loader: BucketLoader,
    host: LoadHost,
    numBuckets: Int,
    inUse: () => Unit
) {
  private[this] val locks = Array.fill(numBuckets)(new ReentrantLock) // by number of a bucket
  private[this] val touched = new LongAdder
  private[this] val isUsed = new AtomicBoolean
  private[this] val untilCount = new AtomicInteger
  @volatile private[this] var foundRoom = -1L // bytes, negative for none
  @volatile private[this] var failure: Throwable = _

  /** How often a bucket had to be loaded because it was touched. */
  def touches: Long = touched.sum

  /**
   * Whether there is room for so many bytes of heap more, all that is not there. What is there need not be counted for
   * each bucket, which takes as long as to load a small one: where there was room, what comes with a few buckets is part of it.
   */
  def hasRoom(bytes: Long): Boolean =
    (bytes <= foundRoom && untilCount.decrementAndGet() > 0) || {
      val found = host.hasRoom(bytes)
      untilCount.set(TableLoading.BucketsPerCount)
      foundRoom = if (found) bytes else -1L
      found
    }

  def requireRoom(bytes: Long): Unit = host.requireRoom(bytes)

  /** See [[LoadHost.mayKeep]]. */
  val mayKeep: Long => Boolean = host.mayKeep(_)

  /**
   * Runs `body` while no other thread does so for buckets of that number. An interrupt wakes whoever waits for another
   * thread, with an `InterruptedException`: so storage that hangs for one thread does not hold a task that is killed.
   */
  def alone[A](bucket: Int)(body: => A): A = {
    val lock = locks(bucket)
    if (!lock.tryLock()) lock.lockInterruptibly()
    try body
    finally lock.unlock()
  }

  def isSound: Boolean = failure == null

  /** Throws what the loading of a bucket failed with for good, or a change, if it has. */
  def requireSound(): Unit = if (failure != null) throw failure

  /**
   * Carries out a part of loading. Where the storage was not available, or the thread was interrupted, it may be tried
   * again; after any other failure nothing is loaded any more.
   */
  def guarded[A](load: => A): A =
    try load
    catch {
      case e @ (_: UnavailableException | _: InterruptedException) => throw e
      case e: Throwable                                            =>
        failure = e
        throw e
    }

  /** Something that changes the table was left half-way: what it holds is not to be relied on any more. */
  def broken(by: Throwable): Unit = failure = by

  /** Carries out a change of the table. */
  def changing[A](change: => A): A =
    try change
    catch {
      case e: Throwable =>
        broken(e)
        throw e
    }

  /** Loads what somebody touched. */
  def touching[A](load: => A): A = {
    touched.increment()
    val loaded = telling(load)
    use()
    loaded
  }

  /** Calls `load` for the number of every bucket, see [[LoadHost.forEach]]. */
  def all(load: Int => Unit): Unit = telling(host.forEach(numBuckets)(load))

  /** Several reads side by side, which tell what they throw themselves. */
  def together(count: Int)(read: Int => Unit): Unit =
    if (count == 1) read(0) else if (count > 1) host.forEach(count)(read)

  /** Begins to read what is needed soon; whoever takes it waits for it, or does the reading. */
  def ahead[A](read: => A): ReadAhead[A] = {
    val begun = new ReadAhead(() => read)
    host.ahead(begun)
    begun
  }

  /** Tells the host that the table is in use, unless that was told before. */
  def use(): Unit = if (!isUsed.get && isUsed.compareAndSet(false, true)) inUse()

  def telling[A](load: => A): A =
    try load
    catch { case e: Throwable => throw host.failureOf(e) }
}

private[table] object TableLoading {

  /** Buckets that come into memory before it is counted again. */
  final val BucketsPerCount = 16
}
