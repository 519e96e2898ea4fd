package io.bucketstate.checkpoint

import scala.collection.mutable

import io.bucketstate.error.CorruptException
import io.bucketstate.table.ChangeSet

/** Takes one record: the key alone if it is a removal. */
trait RecordSink {
  def apply(record: Array[Byte], isRemoval: Boolean): Unit
}

/**
 * Records that can be had bucket by bucket, each key at most once, in no order inside a bucket: a
 * change set, a changelog, or the whole state as it was captured at a version.
 */
trait BucketSource {

  /** The families that may have records. */
  def families: Iterable[Int]

  /** Hands out a bucket's records. Asked for in ascending order of family and bucket, once each. */
  def read(family: Int, bucket: Int, sink: RecordSink): Unit
}

object BucketSource {

  /**
   * What a version changed. Removals of what no older version held come out too: once the version
   * has settled they can no longer be told from the others, and they do no harm.
   */
  def ofChangeSet(changes: ChangeSet): BucketSource = new BucketSource {
    private val byFamily = changes.families.map(f => f.family -> f).toMap

    def families: Iterable[Int] = byFamily.keys

    def read(family: Int, bucket: Int, sink: RecordSink): Unit =
      byFamily.get(family).foreach { f =>
        var i = f.bucketStart(bucket)
        val end = f.bucketStart(bucket + 1)
        while (i < end) {
          val entry = f.entries(i)
          sink(entry.bytes, entry.isRemoval)
          i += 1
        }
      }
  }

  /**
   * What an opened changelog holds. Reads a block when its first bucket is asked for and keeps only
   * what belongs to buckets not yet asked for.
   *
   * @param path     of the changelog, for messages
   * @param bucketOf the bucket of a family's record: blocks hold several and do not say which is whose
   */
  def ofChangelog(
      reader: ChangelogReader,
      path: String,
      bucketOf: (Int, Array[Byte]) => Int
  ): BucketSource = new BucketSource {
    private val waiting = mutable.HashMap.empty[Int, mutable.ArrayBuffer[(Array[Byte], Boolean)]]
    private var next = 0

    def families: Iterable[Int] = reader.families.map(_.descriptor.id)

    def read(family: Int, bucket: Int, sink: RecordSink): Unit = {
      while (next < reader.blocks.size && comesBy(reader.blocks(next), family, bucket)) {
        load(reader.blocks(next))
        next += 1
      }
      waiting.remove(bucket).foreach(_.foreach { case (record, removal) => sink(record, removal) })
    }

    /** Blocks of a family that nobody asks for are passed over. */
    private def comesBy(block: ChangelogBlock, family: Int, bucket: Int): Boolean =
      block.family < family || (block.family == family && block.firstBucket <= bucket)

    private def load(block: ChangelogBlock): Unit =
      reader.foreachIn(Seq(block)) { (_, op, bytes, offset, length) =>
        ChangelogOp.requireApplicable(op, path)
        val record = java.util.Arrays.copyOfRange(bytes, offset, offset + length)
        val bucket = bucketOf(block.family, record)
        if (!block.holds(bucket)) {
          throw new CorruptException(
            path,
            s"expected keys of buckets ${block.firstBucket} to ${block.lastBucket} in the block at " +
              s"byte ${block.offset}, found one of bucket $bucket",
            Damage.Remedy
          )
        }
        waiting.getOrElseUpdate(bucket, mutable.ArrayBuffer.empty) +=
          ((record, op == ChangelogOp.Remove))
        ()
      }
  }
}
