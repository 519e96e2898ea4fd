package io.bucketstate.checkpoint.changelog

import java.io.OutputStream
import java.nio.ByteBuffer
import java.util.{ArrayList, Arrays, Collections}

import io.bucketstate.checkpoint.io.ByteSlice

/**
 * A whole changelog in its writer's buffers: valid until the writer encodes the next one.
 *
 * @param out    all of it
 * @param footer says where in that the blocks are
 */
private[bucketstate] final class EncodedChangelog private[changelog] (
    out: ChunkedBuffer,
    footer: ChangelogFooter
) {
  import EncodedChangelog._

  val length: Long = out.length

  /** The records in it, at most the entries that were given: removals of nothing leave none. */
  val records: Long = footer.blocks.foldLeft(0L)(_ + _.records)

  /** What its blocks have before they are compressed. */
  val rawBytes: Long = footer.blocks.foldLeft(0L)(_ + _.rawLength)

  def writeTo(target: OutputStream): Unit = out.writeTo(target)

  /**
   * Whether both are proved to make the same version of the same one before it: the same families with as many keys and
   * the same last write per key, in whichever order. False where that would take too much memory to find out.
   */
  def holdsSameAs(that: EncodedChangelog): Boolean = {
    val others = that.index
    footer.families == others.families && footer.nextFamily == others.nextFamily &&
    footer.blocks.size == others.blocks.size &&
    footer.blocks.lazyZip(others.blocks).forall { (one, other) =>
      sameRecords(one, storedOf(one), other, that.storedOf(other))
    }
  }

  private def index: ChangelogFooter = footer

  private def storedOf(block: ChangelogBlock): ByteSlice =
    out.slice(block.offset, block.storedLength)
}

private object EncodedChangelog {

  /** Larger blocks are the same only if their bytes are: two of them are not inflated beside the state. */
  private final val MostCompared = 2 * ChangelogFormat.SplitBytes

  private def sameRecords(
      one: ChangelogBlock,
      stored: ByteSlice,
      other: ChangelogBlock,
      storedOther: ByteSlice
  ): Boolean = {
    val fit = one.family == other.family && one.firstBucket == other.firstBucket &&
      one.lastBucket == other.lastBucket && one.records == other.records &&
      one.rawLength == other.rawLength
    fit && ((one.codec == other.codec && same(stored, storedOther)) ||
      (one.rawLength <= MostCompared && {
        val (raw, rawOther) = (inflated(one, stored), inflated(other, storedOther))
        Arrays.equals(raw, rawOther) || recordsOf(one, raw) == recordsOf(other, rawOther)
      }))
  }

  private def same(one: ByteSlice, other: ByteSlice): Boolean = Arrays.equals(
    one.array,
    one.offset,
    one.offset + one.length,
    other.array,
    other.offset,
    other.offset + other.length
  )

  private def inflated(block: ChangelogBlock, stored: ByteSlice): Array[Byte] = {
    val raw = new Array[Byte](block.rawLength)
    block.codec.decompress(stored.array, stored.offset, stored.length, raw, block.rawLength)
    raw
  }

  /**
   * Each with its operation. A version has one of each key, so that their order says nothing: they are sorted, because
   * whoever chooses keys can give as many as they like one hash.
   */
  private def recordsOf(block: ChangelogBlock, raw: Array[Byte]): ArrayList[ByteBuffer] = {
    val found = new ArrayList[ByteBuffer](block.records)
    var at = 0
    while (at < raw.length) {
      val body = ChangelogRecords.bodyAt(raw, at)
      val end = body + ChangelogRecords.bodyLength(raw, at)
      found.add(ByteBuffer.wrap(raw, at, end - at))
      at = end
    }
    Collections.sort(found)
    found
  }
}
