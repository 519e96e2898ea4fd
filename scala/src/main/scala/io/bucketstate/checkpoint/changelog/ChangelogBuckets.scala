package io.bucketstate.checkpoint.changelog

import java.util.Arrays

import scala.collection.mutable
import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.checkpoint.records.{BucketSource, RecordPlaces}
import io.bucketstate.error.CorruptException
import io.bucketstate.record.RecordSink

/**
 * A changelog taken apart by bucket, in any order, each bucket read once. Every block is read once, when the
 * first of its buckets is asked for; what belongs to its other buckets waits until those are. Thread-safe.
 *
 * @param reading  gives an opened changelog to whoever wants to read from it
 * @param blocks   of the changelog
 * @param path     of the changelog, for messages
 * @param places   the buckets of records: blocks hold several and do not say which is whose
 */
private[checkpoint] final class ChangelogBuckets(
    reading: (ChangelogReader => Unit) => Unit,
    blocks: IndexedSeq[ChangelogBlock],
    path: String,
    places: RecordPlaces
) extends BucketSource {
  import ChangelogBuckets._

  private[this] val shares = blocks.map(new Share(_))

  override def families: Iterable[Int] = blocks.map(_.family).distinct

  override def read(family: Int, bucket: Int, sink: RecordSink): Unit =
    shares.foreach { share =>
      if (share.block.family == family && share.block.holds(bucket)) {
        take(share, bucket).foreach(item => sink(item.record, item.op))
      }
    }

  private def take(share: Share, bucket: Int): Iterable[Item] = share.synchronized {
    decode(share)
    share.waiting.remove(bucket).getOrElse(Nil)
  }

  private def decode(share: Share): Unit =
    if (share.waiting == null) share.waiting = decoded(share.block)

  private def decoded(block: ChangelogBlock): mutable.HashMap[Int, ArrayBuffer[Item]] = {
    val byBucket = mutable.HashMap.empty[Int, ArrayBuffer[Item]]
    reading(_.foreachIn(Seq(block)) { (_, op, bytes, offset, length) =>
      val bucket = places(block.family, bytes, offset)
      if (!block.holds(bucket)) throw misplaced(block, bucket)
      val record = Arrays.copyOfRange(bytes, offset, offset + length)
      byBucket.getOrElseUpdate(bucket, ArrayBuffer.empty) += new Item(record, op)
      ()
    })
    byBucket
  }

  private def misplaced(block: ChangelogBlock, bucket: Int) = new CorruptException(
    path,
    s"expected keys of buckets ${block.firstBucket} to ${block.lastBucket} in the block at byte " +
      s"${block.offset}, found one of bucket $bucket",
    Damage.Remedy
  )
}

private[checkpoint] object ChangelogBuckets {

  /** The buckets of a changelog that its opener keeps open. */
  def of(
      reader: ChangelogReader,
      path: String,
      places: RecordPlaces
  ): ChangelogBuckets = new ChangelogBuckets(use => use(reader), reader.blocks, path, places)

  private final class Item(val record: Array[Byte], val op: Byte)

  /** A block and, once it was read, the records of its buckets that were not asked for yet. */
  private final class Share(val block: ChangelogBlock) {
    var waiting: mutable.HashMap[Int, ArrayBuffer[Item]] = _
  }
}
