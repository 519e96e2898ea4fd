package io.bucketstate.checkpoint.recovery

import java.util.concurrent.ConcurrentHashMap

import io.bucketstate.checkpoint.changelog.{ChangelogFamily, ChangelogTail}
import io.bucketstate.checkpoint.manifest.ManifestState
import io.bucketstate.checkpoint.records.Lookup
import io.bucketstate.record.{ColdState, RecordBuffer, RecordSink, TimeBuckets}
import io.bucketstate.table.cold.BucketLoader

/**
 * A version's buckets as the files have them: the runs of a manifest, and the changelogs after it. A
 * bucket costs its span of the runs and its blocks of the changelogs, however large the rest is.
 *
 * @param counts     of each family at the version
 * @param base       the state that the manifest's runs hold
 * @param tail       the changelogs after it
 * @param knowsEmpty whether a family that should have no keys is taken for one without any unread
 * @param miscounted is told of a family whose buckets should hold so many keys, and hold so many
 */
private[checkpoint] final class FileBucketLoader(
    counts: Map[Int, ChangelogFamily],
    base: Option[ManifestState],
    tail: ChangelogTail,
    knowsEmpty: Boolean,
    miscounted: (Int, Long, Long) => Unit
) extends BucketLoader {
  private[this] val unfinished = ConcurrentHashMap.newKeySet[Int]
  counts.keysIterator.filterNot(isEmpty).foreach(unfinished.add)

  // Where no family has keys nobody asks for any, and nobody would let go of them.
  @volatile private[this] var changelogs = if (unfinished.isEmpty) null else tail
  @volatile private[this] var check = TailCheck.of(tail)

  override def keyCount(family: Int): Option[Long] =
    counts.get(family).fold(Option(0L))(_.keyCount)

  override def times(family: Int): Option[TimeBuckets] = counts.get(family).flatMap(_.times)

  override def cold: Option[ColdState] = base

  /** One that came since has nothing in the files. */
  override def isEmpty(family: Int): Boolean =
    (knowsEmpty || !counts.contains(family)) && super.isEmpty(family)

  override def changes(family: Int, bucket: Int, sink: RecordSink): Unit = {
    val there = changelogs
    // They are let go when nobody needs a bucket: whoever loads one still does so for a family that is gone.
    if (there != null) {
      there.read(family, bucket, sink)
      there.loaded(family, bucket)
    }
  }

  override def find(family: Int, key: RecordBuffer): Array[Byte] = {
    // Let go of as above: whoever asks late does so for a family that is gone, and nobody hears the answer.
    val there = changelogs
    val changed = if (there == null) Iterator.empty[Lookup] else there.find(family, key)
    Lookup.combined(family, changed ++ base.iterator.map(_.lookUp(family, key))) match {
      case Lookup.Found(record) => record
      case _                    => null
    }
  }

  override def verify(family: Int, keys: Long): Unit =
    keyCount(family).filter(_ != keys).foreach(miscounted(family, _, keys))

  /** With the last family the changelogs are let go. */
  override def loaded(family: Int): Unit =
    if (unfinished.remove(family) && unfinished.isEmpty) {
      changelogs = null
      check = TailCheck.Settled
    }

  /** What is verified need not be remembered, nor the files that it leads to. */
  override def verifyRest(): Unit = {
    check.settle()
    check = TailCheck.Settled
  }

  override def heldBytes: Long = Option(changelogs).fold(0L)(_.heapBytes)
}
