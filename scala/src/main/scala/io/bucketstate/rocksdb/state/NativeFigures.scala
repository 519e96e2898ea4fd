package io.bucketstate.rocksdb.state

/**
 * What a database tells of itself: the counts since it was opened, and bytes and files as they are now.
 *
 * @param cacheHits      blocks that reads found in the block cache
 * @param cacheMisses    blocks that they had to read from files
 * @param flushBytes     written to files out of memory
 * @param compactBytes   written by compactions
 * @param compactMillis  that compactions took
 * @param stallMillis    that writes waited, because files or flushes did not keep up
 * @param fileBytes      of all its files
 * @param files          their number, over all levels
 * @param unflushedBytes that are in memory alone
 * @param readerBytes    of memory for indexes and filters that are not in the block cache
 */
final case class NativeFigures(
    cacheHits: Long,
    cacheMisses: Long,
    flushBytes: Long,
    compactBytes: Long,
    compactMillis: Long,
    stallMillis: Long,
    fileBytes: Long,
    files: Long,
    unflushedBytes: Long,
    readerBytes: Long
) {

  /** With what was counted since then. */
  def since(before: NativeFigures): NativeFigures = copy(
    cacheHits = cacheHits - before.cacheHits,
    cacheMisses = cacheMisses - before.cacheMisses,
    flushBytes = flushBytes - before.flushBytes,
    compactBytes = compactBytes - before.compactBytes,
    compactMillis = compactMillis - before.compactMillis,
    stallMillis = stallMillis - before.stallMillis
  )
}

object NativeFigures {
  val None: NativeFigures = NativeFigures(0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L, 0L)
}
