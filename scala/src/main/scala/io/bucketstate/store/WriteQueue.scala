package io.bucketstate.store

import java.util.UUID

import scala.collection.mutable

import io.bucketstate.checkpoint.io.Attempt

/**
 * The versions of a store that wait to be written down in its database, in a row. Guarded by who has it, but for
 * [[bytes]].
 */
private[store] final class WriteQueue {
  private[this] val waiting = mutable.ArrayDeque.empty[Unwritten]
  @volatile private[this] var waitingBytes = 0L

  /** Of the changes of all. Any thread. */
  def bytes: Long = waitingBytes

  /** Those after the version that the database begins with. */
  def restart(versions: Seq[Unwritten]): Unit = {
    waiting.clear()
    waitingBytes = 0L
    versions.foreach(add)
  }

  def add(version: Unwritten): Unit = {
    waiting += version
    waitingBytes += version.bytes
  }

  /** The versions above this one were undone. */
  def undoAbove(version: Long): Unit =
    while (waiting.nonEmpty && waiting.last.version > version)
      waitingBytes -= waiting.removeLast().bytes

  /** The database holds this version. */
  def written(version: Long): Unit =
    while (waiting.nonEmpty && waiting.head.version <= version)
      waitingBytes -= waiting.removeHead().bytes

  def upTo(version: Long): Vector[Unwritten] =
    waiting.iterator.takeWhile(_.version <= version).toVector

  def hasUpTo(version: Long): Boolean = waiting.headOption.exists(_.version <= version)

  def contains(attempt: Attempt, commitId: Option[UUID]): Boolean =
    waiting.exists(v => v.attempt == attempt && commitId.contains(v.commitId))
}
