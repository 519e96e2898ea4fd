package io.bucketstate.checkpoint.run.open

import io.bucketstate.checkpoint.run.LookUpTrace
import io.bucketstate.checkpoint.sst.LookUpPart

/**
 * A file's index or filter: whole in memory while the cache has room for it, else read page by page. It is read whole and
 * verified first in any case, so that pages, which have no checksum in the file, can be held against what was verified.
 *
 * Thread-safe. Two threads may both read it, which is no harm.
 */
private[run] abstract class KeptPart[A >: Null <: LookUpPart](file: OpenRunFile, cache: RunCache) {
  @volatile private[this] var whole: A = _ // null while there is no room
  @volatile private[this] var pages: A = _ // null until it is needed
  @volatile private[this] var wholeBytes = 0L

  /** Reads and verifies all of it; null if it is of no use. */
  protected def read(): A

  /** The part with little of it in memory: it is read by pages. */
  protected def paged(whole: A): A

  /** Null if it is of no use. */
  final def get(trace: LookUpTrace): A = {
    val now = whole
    if (now ne null) now
    else {
      val few = pages
      if (few eq null) first(trace)
      else if (cache.keeps(file, wholeBytes)) again(trace)
      else few
    }
  }

  /** Gives up its heap, until it is needed again. */
  final def shed(): Unit = {
    val bytes = synchronized {
      val bytes =
        (if (whole eq null) 0L else wholeBytes) + (if (pages eq null) 0L else pages.heapBytes)
      whole = null
      pages = null
      bytes
    }
    if (bytes > 0) cache.gaveBack(file, bytes)
  }

  private def first(trace: LookUpTrace): A = {
    val found = readNow(trace)
    if (found ne null) {
      wholeBytes = found.heapBytes
      if (cache.keeps(file, wholeBytes)) keep(found) else keepPages(paged(found))
    }
    found
  }

  /** There is room for it now, which is taken. */
  private def again(trace: LookUpTrace): A = {
    var found: A = null
    try {
      found = readNow(trace)
      found
    } finally if (found eq null) cache.gaveBack(file, wholeBytes) else keep(found)
  }

  /** Reads it once more, and keeps nothing. */
  protected final def readNow(trace: LookUpTrace): A = {
    cache.reading(trace)
    read()
  }

  private def keep(found: A): Unit = {
    val isKept = synchronized {
      val isFirst = (whole eq null) && !file.isGivenUp
      if (isFirst) whole = found
      isFirst
    }
    if (!isKept) cache.gaveBack(file, found.heapBytes)
  }

  private def keepPages(found: A): Unit = {
    cache.mustKeep(file, found.heapBytes)
    val isKept = synchronized {
      val isFirst = (pages eq null) && !file.isGivenUp
      if (isFirst) pages = found
      isFirst
    }
    if (!isKept) cache.gaveBack(file, found.heapBytes)
  }
}
