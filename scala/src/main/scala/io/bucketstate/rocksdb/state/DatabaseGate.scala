package io.bucketstate.rocksdb.state

import java.nio.file.Path
import java.util.concurrent.locks.StampedLock

import org.rocksdb.RocksDBException

import io.bucketstate.error.CorruptException
import io.bucketstate.rocksdb.NativeErrors

/**
 * Lets nobody into a database that is closed, which it is when nobody is in it; and knows what RocksDB has refused there.
 * Thread-safe; whoever is in does not come in again.
 */
private[rocksdb] final class DatabaseGate(folder: Path) {
  private[this] val lock = new StampedLock
  @volatile private[this] var isOpen = true
  @volatile private[this] var failed = false

  /** Whether RocksDB has ever refused to read or write something. */
  def hasFailed: Boolean = failed

  /** Whatever it holds from now on may not be whole. */
  def fail(): Unit = failed = true

  /** Until [[leave]] the database stays open. Throws if it is closed. For look-ups, which are to allocate nothing. */
  def enter(): Long = {
    val stamp = lock.readLock()
    if (!isOpen) {
      lock.unlockRead(stamp)
      throw NativeErrors.closed(folder)
    }
    stamp
  }

  def leave(stamp: Long): Unit = lock.unlockRead(stamp)

  /** Throws if the database is closed. */
  def whileOpen[A](body: => A): A = {
    val stamp = enter()
    try body
    finally leave(stamp)
  }

  /** Does nothing if the database is closed. */
  def ifOpen(body: => Unit): Unit = {
    val stamp = lock.readLock()
    try if (isOpen) body
    finally lock.unlockRead(stamp)
  }

  /** Runs `body`, which closes the database, when nobody is in it any more; the first time. */
  def close(body: => Unit): Unit = {
    val stamp = lock.writeLock()
    try
      if (isOpen) {
        isOpen = false
        body
      }
    finally lock.unlockWrite(stamp)
  }

  def using[A](problem: String)(body: => A): A = whileOpen(translating(problem)(body))

  def translating[A](problem: String)(body: => A): A =
    try body
    catch {
      case e: RocksDBException =>
        failed = true
        throw NativeErrors.failed(folder, problem, e)
    }

  /** Asking again would not help: whoever reads from it is to begin anew. */
  def unreadable(cause: RocksDBException): CorruptException = {
    failed = true
    NativeErrors.unreadable(folder, cause)
  }
}
