package io.bucketstate.checkpoint.run.open

import io.bucketstate.checkpoint.run.LookUpTrace
import io.bucketstate.checkpoint.sst.{BlockPage, KeyFilter, SstFilter, SstHandle}

/** A filter of which only the checksums of its pages are in memory. Thread-safe. */
private[run] final class PagedFilter private (
    filter: SstFilter.Shape,
    sums: Array[Int],
    at: SstHandle,
    page: (BlockPage, LookUpTrace) => Array[Byte]
) extends KeyFilter {
  import PagedFilter._

  override def heapBytes: Long = 4L * sums.length

  override def mayHave(hash: Long, trace: LookUpTrace): Boolean = {
    val line = filter.lineOf(hash)
    val number = line / PageBytes
    val from = number * PageBytes
    val length = math.min(PageBytes, filter.length - from)
    val bytes = page(BlockPage(at.offset + from, length, sums(number)), trace)
    filter.mayHave(bytes, line - from, hash)
  }
}

private[run] object PagedFilter {

  /** A page has 16 lines: it costs little more to read than one, and checksums take 1/256 of what the filter does. */
  private final val PageBytes = 1024

  /**
   * @param filter verified
   * @param at     where it lies in the file
   * @param page   reads one
   */
  def of(
      filter: SstFilter,
      at: SstHandle,
      page: (BlockPage, LookUpTrace) => Array[Byte]
  ): PagedFilter = {
    val (bytes, length) = (filter.block, filter.shape.length)
    val sums = (0 until length by PageBytes).map { from =>
      BlockPage.sum(bytes.array, bytes.offset + from, math.min(PageBytes, length - from))
    }
    new PagedFilter(filter.shape, sums.toArray, at, page)
  }
}
