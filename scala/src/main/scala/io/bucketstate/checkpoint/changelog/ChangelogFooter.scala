package io.bucketstate.checkpoint.changelog

import scala.collection.immutable.{IndexedSeq, SortedMap}

import io.bucketstate.checkpoint.io.{ByteSlice, Damage, LittleEndian}
import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.record.{FamilyDescriptor, TimeBuckets, TimedValue}

/**
 * The index at a changelog's end.
 *
 * @param nextFamily the number that the next new column family gets: higher than any there ever was
 */
private[checkpoint] final case class ChangelogFooter(
    families: IndexedSeq[ChangelogFamily],
    nextFamily: Int,
    blocks: IndexedSeq[ChangelogBlock]
) {

  /**
   * Checks what checksums cannot: that the parts fit together.
   *
   * @param from       where the first block starts
   * @param until      where the footer starts
   * @param numBuckets of the header
   */
  def check(from: Long, until: Long, numBuckets: Int, damage: Damage): Unit = {
    val known = families.map(_.descriptor.id)
    if (known.distinct.size != known.size) throw damage("a column family is described twice")
    known.filter(_ >= nextFamily).foreach { id =>
      throw damage.mismatch("column families with numbers below", nextFamily, id)
    }
    val end = blocks.foldLeft(from) { (offset, block) =>
      if (!known.contains(block.family)) {
        val expected = known.mkString(" or ")
        throw damage.mismatch("blocks of column family", expected, block.family)
      }
      if (block.offset != offset) {
        throw damage.mismatch("a block at position", offset, block.offset)
      }
      if (block.firstBucket > block.lastBucket || block.lastBucket >= numBuckets) {
        throw damage(
          s"expected buckets 0 to ${numBuckets - 1}, found a block of buckets " +
            s"${block.firstBucket} to ${block.lastBucket}"
        )
      }
      if (!block.isPossible) {
        throw damage(
          s"expected a block at position $offset whose lengths can be true, found ${block.records} " +
            s"records in ${block.rawLength} bytes, stored with ${block.codec} in ${block.storedLength}"
        )
      }
      offset + block.storedLength
    }
    if (end != until) throw damage.mismatch("the footer at position", end, until)
  }
}

private[checkpoint] object ChangelogFooter {
  import ChangelogFormat.{BlockEntryLength, MinFamilyLength, TimeBucketLength}

  // A family's flags.
  private final val Internal = 1
  private final val IsTimed = 2
  private final val IsNotCounted = 4

  def encode(footer: ChangelogFooter, out: LittleEndian.Writer): Unit = {
    out.u32(footer.families.size)
    footer.families.foreach { f =>
      val d = f.descriptor
      out
        .u32(d.id)
        .u8(
          (if (d.isInternal) Internal else 0) | (if (f.times.isEmpty) 0 else IsTimed) |
            (if (f.keyCount.isEmpty) IsNotCounted else 0)
        )
      out.string(d.name).string(d.keyEncoding).string(d.valueEncoding)
      f.keyCount.foreach(out.u64(_))
      f.times.foreach(encode(_, out))
    }
    out.u32(footer.nextFamily)
    out.u32(footer.blocks.size)
    footer.blocks.foreach { b =>
      out.u32(b.family).u32(b.firstBucket).u32(b.lastBucket).u64(b.offset)
      out.u32(b.storedLength).u32(b.rawLength).u32(b.records).u8(b.codec.id.toInt).u32(b.crc)
    }
  }

  private def encode(times: TimeBuckets, out: LittleEndian.Writer): Unit = {
    out.u32(times.newest.toInt).u32(times.horizon.toInt).u32(times.untimed.toInt)
    out.u64(times.untimedKeys).u32(times.keys.size)
    times.keys.foreachEntry((start, keys) => out.u32(start.toInt).u64(keys))
  }

  /** @param format version of the file's format */
  def decode(bytes: ByteSlice, format: Int, damage: Damage): ChangelogFooter =
    damage.guard("footer") {
      val in = new LittleEndian.Reader(bytes)
      val families = IndexedSeq.fill(counted(in, MinFamilyLength)) {
        val (id, flags) = (in.u32(), in.u8())
        val known = flagsOf(format)
        if ((flags & ~known) != 0) {
          throw damage.mismatch("column family flags among", known, flags)
        }
        val (isTimed, isCounted) = ((flags & IsTimed) != 0, (flags & IsNotCounted) == 0)
        if (isTimed && !isCounted) throw damage("the keys of a family with times are not counted")
        val descriptor =
          FamilyDescriptor(id, in.string(), in.string(), in.string(), (flags & Internal) != 0)
        if (isTimed != FamilyEncodings.isTimed(descriptor))
          throw mismatch(descriptor, isTimed, damage)
        val keys = Option.when(isCounted)(in.u64())
        ChangelogFamily(descriptor, keys, keys.filter(_ => isTimed).map(times(in, _, damage)))
      }
      val nextFamily = in.u32()
      val blocks = IndexedSeq.fill(counted(in, BlockEntryLength)) {
        ChangelogBlock(
          in.u32(),
          in.u32(),
          in.u32(),
          in.u64(),
          in.u32(),
          in.u32(),
          in.u32(),
          ChangelogHeader.codecOf(in.u8(), damage),
          in.crc()
        )
      }
      if (in.remaining > 0) throw damage(s"the footer has ${in.remaining} bytes too many")
      ChangelogFooter(families, nextFamily, blocks)
    }

  private def mismatch(descriptor: FamilyDescriptor, isTimed: Boolean, damage: Damage) = {
    val found = if (isTimed) "time buckets" else "no time buckets"
    damage(
      s"the column family '${descriptor.name}' has $found, but its values are encoded as " +
        s"'${descriptor.valueEncoding}'"
    )
  }

  private def flagsOf(format: Int): Int = format match {
    case ChangelogFormat.Plain => Internal | IsNotCounted
    case _                     => Internal | IsTimed | IsNotCounted
  }

  private def times(in: LittleEndian.Reader, keys: Long, damage: Damage): TimeBuckets = {
    def start() = in.crc() & 0xffffffffL
    val newest = start()
    val (horizon, untimed, untimedKeys) = (start(), start(), in.u64())
    val buckets = IndexedSeq.fill(counted(in, TimeBucketLength))(start() -> in.u64())
    val times = TimeBuckets(
      if (newest == TimedValue.Never) TimeBuckets.NoTime else newest,
      horizon,
      untimed,
      untimedKeys,
      buckets.to(SortedMap)
    )
    if (buckets.lazyZip(buckets.drop(1)).exists(_._1 >= _._1))
      throw damage("time buckets are not in ascending order, each once")
    if (!times.isLiving) throw damage(s"time buckets count keys that expired before $horizon")
    if (times.keyCount != keys) throw damage.mismatch("keys in time buckets", keys, times.keyCount)
    times
  }

  /** A count that can be true: so a wrong one is an error, not an attempt to allocate that much. */
  private def counted(in: LittleEndian.Reader, leastBytesEach: Int): Int = {
    val count = in.u32()
    require(count.toLong * leastBytesEach <= in.remaining.toLong, s"a count of $count")
    count
  }
}
