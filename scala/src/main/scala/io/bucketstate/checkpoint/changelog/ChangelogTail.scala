package io.bucketstate.checkpoint.changelog

import io.bucketstate.checkpoint.records.Lookup
import io.bucketstate.record.{RecordBuffer, RecordSink}

/**
 * The changelogs between a snapshot and the version that a restart wants, by bucket and by key: opened,
 * their headers and footers verified, and nothing decoded before it is asked for. A bucket can be read
 * again, for example after a read that failed, until [[loaded]] says that it need not. Thread-safe.
 *
 * @param oldestFirst in the order of their replay
 */
private[checkpoint] final class ChangelogTail(val oldestFirst: IndexedSeq[TailChangelog]) {

  /** Hands out what the changelogs have of a bucket, oldest first. */
  def read(family: Int, bucket: Int, sink: RecordSink): Unit =
    oldestFirst.foreach(_.read(family, bucket, sink))

  def loaded(family: Int, bucket: Int): Unit = oldestFirst.foreach(_.loaded(family, bucket))

  /** What the changelogs have of a key, newest first; one is asked only if those before had nothing. */
  def find(family: Int, key: RecordBuffer): Iterator[Lookup] =
    oldestFirst.reverseIterator.map(_.find(family, key))

  def isVerified: Boolean = oldestFirst.forall(_.isVerified)

  /** Verifies what was not verified when the changelogs were opened. */
  def verify(): Unit = oldestFirst.iterator.filterNot(_.isVerified).foreach(_.verify())

  def heapBytes: Long = oldestFirst.iterator.map(_.heapBytes).sum
}
