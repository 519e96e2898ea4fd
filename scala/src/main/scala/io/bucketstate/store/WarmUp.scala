package io.bucketstate.store

import java.util.concurrent.atomic.{AtomicBoolean, AtomicLong}

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.bucketstate.background.{BackgroundPool, InParallel}
import io.bucketstate.table.{StateTable, TableHost}

/**
 * Brings into memory what a restored table of one store still has in files: beside the batches, from the
 * table's first use on, with the threads of the pool. Thread-safe.
 *
 * @param store      for messages
 * @param cannotLoad what a failure to load a bucket is told as to a task that touches the bucket
 * @param memory     whether there is room for what could be loaded
 */
private[bucketstate] final class WarmUp(
    store: String,
    cannotLoad: Throwable => Throwable,
    memory: () => StoreMemory
) extends TableHost {
  private[this] val log = LoggerFactory.getLogger(classOf[WarmUp])
  private[this] val failures = new AtomicLong
  private[this] val isFilling = new AtomicBoolean
  @volatile private[this] var stopped = false

  override def failureOf(cause: Throwable): Throwable = cannotLoad(cause)

  /** Not before: the first bucket that a batch waits for gets the machine for itself. */
  override def inUse(table: StateTable): Unit = begin(table, fills = false)

  override def hasRoom(bytes: Long): Boolean = memory().hasRoom(bytes)

  override def mayKeep(bytes: Long): Boolean = memory().mayKeep(bytes)

  override def requireRoom(bytes: Long): Unit = memory().requireRoom(bytes)

  override def forEach(count: Int)(load: Int => Unit): Unit = InParallel.forEach(count)(load)

  override def ahead(task: Runnable): Unit = BackgroundPool.readers.execute(task)

  /** Loads all of a table before anybody uses it, in parallel. */
  def atOnce(table: StateTable): Unit =
    InParallel.forEach(bucketsOf(table))(bucket => table.families.foreach(_.load(bucket)))

  /** Goes on where some of the table is in files alone, also because it could not be loaded beside the last batch. */
  def again(table: StateTable): Unit =
    if (!table.isLoaded || table.families.exists(_.canFill)) begin(table, fills = true)

  /** Failures since the last call. */
  def drainFailures(): Long = failures.getAndSet(0L)

  /** Lets it end after the bucket it is at. */
  def stop(): Unit = stopped = true

  /**
   * Verifies what nobody has read yet, which the first commit waits for, and loads one bucket after another, and whole
   * if there is room, in the background, until something fails. Does not fill where that is already going on.
   *
   * @param fills also families whose keys are looked up: not while the first batch does so, which then has the
   *              machine for itself
   */
  private def begin(table: StateTable, fills: Boolean): Unit =
    if (!table.isResident && (!fills || isFilling.compareAndSet(false, true))) {
      try BackgroundPool.submit(() => load(table, fills))
      catch {
        // "Unable to create native thread" passes, and a version that is written is not to fail for it.
        case failure @ (_: Exception | _: OutOfMemoryError) =>
          if (fills) isFilling.set(false)
          failed(table, failure)
      }
    }

  private def load(table: StateTable, fills: Boolean): Unit =
    try {
      table.requireVerified()
      (0 until bucketsOf(table)).iterator
        .takeWhile(_ => !stopped && !table.isAbandoned)
        .foreach { bucket =>
          table.families
            .filter(family => fills || family.loadsWhole)
            .foreach(family => if (!family.load(bucket)) family.fill(bucket))
        }
    } catch { case NonFatal(failure) => failed(table, failure) }
    finally if (fills) isFilling.set(false)

  private def bucketsOf(table: StateTable): Int =
    table.families.iterator.map(_.numBuckets).maxOption.getOrElse(0)

  /** Nothing of a store that closes: its files are taken away under what still loads. */
  private def failed(table: StateTable, failure: Throwable): Unit = if (!stopped) {
    failures.incrementAndGet()
    val next =
      if (table.isSound) "It is tried again with the next batch"
      else "No batch is committed on top of it; the next one loads the checkpoint anew"
    log.warn(s"The state of $store could not be loaded beside the batches. $next.", failure)
  }
}
