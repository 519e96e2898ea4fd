package io.bucketstate.checkpoint.snapshot

/**
 * Which spans of a large state are merged with the next snapshot. Each is an LSM of its own, with levels as the
 * [[CompactionPlan]] has runs. All get a level more with each snapshot, and would be due with the same one; so some are
 * merged earlier, that the bytes merged are about the same each time: as many as it takes for every span to have its
 * turn before it is too deep, the deepest first.
 */
private[snapshot] object SpanPlan {

  /** Bytes merged for each byte that is new: more than the logarithm of any state's snapshots comes to. */
  final val MostPerByte = 8L

  /**
   * @param spans   disjoint
   * @param limit   no span should have so many levels and more; half of `maxRuns` below begins the time for its turn
   * @param maxRuns as many levels as a merge leaves at most
   * @param atMost  bytes that are merged, but by one merge at least; spans that are not merged for it go beyond the limit
   * @param busy    files that are being merged: only what is newer can be
   */
  def apply(
      spans: Seq[StateSpan],
      limit: Int,
      maxRuns: Int,
      atMost: Long = Long.MaxValue,
      busy: Set[String] = Set.empty
  ): Seq[SpanMerge] = {
    val first = math.max(2, limit - maxRuns / 2)
    val ripe = spans
      .filter(_.depth >= first)
      .flatMap(span => mergeOf(span, maxRuns, busy).map(_ -> span.depth))
      .sortBy { case (_, depth) => -depth }
    val even = ripe
      .scanLeft((0L, 0.0)) { case ((bytes, most), (merge, depth)) =>
        val all = bytes + merge.bytes
        (all, math.max(most, all.toDouble / math.max(1, limit - depth + 1)))
      }
      .last
      ._2
    var bytes = 0L
    ripe.iterator
      .map(_._1)
      .takeWhile { merge =>
        val isTaken = bytes < even && (bytes == 0 || bytes + merge.bytes <= atMost)
        bytes += merge.bytes
        isTaken
      }
      .toSeq
  }

  private def mergeOf(span: StateSpan, maxRuns: Int, busy: Set[String]): Option[SpanMerge] = {
    val free = span.levels.takeWhile(!_.files.exists(f => busy(f.name)))
    if (free.size < 2) None
    else if (free.size < span.depth) Some(SpanMerge(free, isWhole = false))
    else {
      val (newest, older) = (free.head.bytes, free.tail.map(_.bytes))
      // Before it is full as when it is.
      CompactionPlan(newest, older, span.live, math.min(maxRuns, older.size)) match {
        case CompactionPlan.Merge(count) => Some(SpanMerge(free.take(count + 1), isWhole = false))
        case _                           => Some(SpanMerge(free, isWhole = true))
      }
    }
  }
}
