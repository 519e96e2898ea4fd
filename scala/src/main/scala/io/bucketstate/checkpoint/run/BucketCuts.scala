package io.bucketstate.checkpoint.run

/**
 * Where the files of all runs of a large state end: at the same buckets, so that what lies between two such places can be
 * merged without the rest. Each family is divided into a power of two of spans with about as many buckets each: when there
 * are more spans, old files still end where spans end. Immutable.
 *
 * @param spans of each family, how many; one where it is not mentioned
 */
final class BucketCuts private (numBuckets: Int, spans: Map[Int, Int]) {

  /** Whether files are cut at all. */
  def isDivided: Boolean = numBuckets > 0

  /** The span of a bucket. Spans are numbered in the order of a run, over all families. */
  def spanOf(family: Int, bucket: Int): Long =
    if (!isDivided) 0L
    else (family.toLong << 32) | bucket.toLong * spans.getOrElse(family, 1) / numBuckets

  /** The spans that a file has keys of, and all between them. */
  def spansOf(file: RunFile): (Long, Long) = (
    file.buckets.iterator.map(b => spanOf(b.family, b.first)).min,
    file.buckets.iterator.map(b => spanOf(b.family, b.last)).max
  )
}

object BucketCuts {

  /** All is one span. */
  val None: BucketCuts = new BucketCuts(0, Map.empty)

  /**
   * None where all of the state is not more than `maxBytes`. Else a span has half of it at most: a merge reads what it
   * replaces, too. A bucket is never divided.
   *
   * @param bytes of each family
   */
  def of(bytes: Map[Int, Long], numBuckets: Int, maxBytes: Long): BucketCuts =
    if (bytes.values.sum <= maxBytes) None
    else {
      def spans(size: Long) = Iterator
        .iterate(1)(2 * _)
        .find(n => n >= numBuckets || size / n <= maxBytes / 2)
        .get
      new BucketCuts(numBuckets, bytes.map { case (family, size) => family -> spans(size) })
    }
}
