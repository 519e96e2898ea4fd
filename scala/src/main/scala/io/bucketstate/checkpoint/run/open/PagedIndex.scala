package io.bucketstate.checkpoint.run.open

import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.io.ByteSlice
import io.bucketstate.checkpoint.run.LookUpTrace
import io.bucketstate.checkpoint.sst.{BlockPage, IndexWalk, KeyIndex, SstHandle, SstIndex}

/**
 * An index of which only the last key of each page is in memory, a page being some neighbouring entries: what RocksDB calls
 * a partitioned index, over a file that has one block. Thread-safe.
 *
 * @param page reads one
 */
private[run] final class PagedIndex private (
    lastKeys: Array[Array[Byte]],
    pages: Array[BlockPage],
    page: (BlockPage, LookUpTrace) => Array[Byte]
) extends KeyIndex {
  import PagedIndex._

  override val heapBytes: Long =
    lastKeys.iterator.map(_.length.toLong).sum + pages.length * EntryBytes

  override def find(key: Array[Byte], trace: LookUpTrace): Option[SstHandle] = {
    val number = pageOf(key)
    if (number == pages.length) None
    else {
      val entries = entriesOf(number, trace)
      if (entries.goTo(key)) Some(entries.place) else None
    }
  }

  override def from(key: Array[Byte], trace: LookUpTrace): IndexWalk = new Walk(key, trace)

  /** The first one whose last key is not less. */
  private def pageOf(key: Array[Byte]): Int = {
    var low = 0
    var high = pages.length
    while (low < high) {
      val middle = (low + high) >>> 1
      if (Arrays.compareUnsigned(lastKeys(middle), key) < 0) low = middle + 1 else high = middle
    }
    low
  }

  private def entriesOf(number: Int, trace: LookUpTrace): SstIndex.Entries = {
    val bytes = page(pages(number), trace)
    val block = Arrays.copyOf(bytes, bytes.length + OneRestart.length)
    System.arraycopy(OneRestart, 0, block, bytes.length, OneRestart.length)
    new SstIndex.Entries(new ByteSlice(block, 0, block.length))
  }

  private final class Walk(key: Array[Byte], trace: LookUpTrace) extends IndexWalk {
    private[this] var number = pageOf(key)
    private[this] var entries: SstIndex.Entries = _
    private[this] var valid = number < pages.length && {
      entries = entriesOf(number, trace)
      entries.goTo(key)
    }

    def isValid: Boolean = valid

    def place: SstHandle = entries.place

    def prefixIsUpTo(last: Int): Boolean = entries.prefixIsUpTo(last)

    def advance(): Boolean = {
      valid = entries.advance() || (number + 1 < pages.length && {
        number += 1
        entries = entriesOf(number, trace)
        entries.advance()
      })
      valid
    }
  }
}

private[run] object PagedIndex {

  /** A page and its place in arrays, without the key's bytes. */
  private final val EntryBytes = 56L

  private final val PageBytes = 4096

  /** What ends a block whose entries all follow from the first: its place, and that there is one; little-endian. */
  private val OneRestart = Array[Byte](0, 0, 0, 0, 1, 0, 0, 0)

  /**
   * @param block verified, and stored as it is
   * @param at    where it lies in the file
   * @param page  reads one
   */
  def of(
      block: ByteSlice,
      at: SstHandle,
      page: (BlockPage, LookUpTrace) => Array[Byte]
  ): PagedIndex = {
    val keys = ArrayBuffer.empty[Array[Byte]]
    val pages = ArrayBuffer.empty[BlockPage]
    val entries = new SstIndex.Entries(block)
    var start = 0
    var restart = 1 // the next one
    var last: Array[Byte] = null
    def end(here: Int): Unit = {
      keys += last
      pages += BlockPage.of(block, start, here - start, at)
      start = here
    }
    while (entries.advance()) {
      last = Arrays.copyOf(entries.key, entries.keyLength)
      val here = entries.position
      while (restart < entries.restarts && entries.restartAt(restart) < here) restart += 1
      // Only there keys and places are whole.
      val canEnd = restart < entries.restarts && entries.restartAt(restart) == here
      if (canEnd && here - start >= PageBytes) end(here)
    }
    if (last != null && entries.position > start) end(entries.position)
    new PagedIndex(keys.toArray, pages.toArray, page)
  }
}
