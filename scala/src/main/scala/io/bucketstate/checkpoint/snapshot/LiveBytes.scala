package io.bucketstate.checkpoint.snapshot

import io.bucketstate.checkpoint.run.{BucketCuts, Run, RunFile}

/**
 * About how many bytes each family of a state takes in files, as far as that can be told without reading them: a file that
 * has several families counts for each by its share of their keys. Immutable.
 *
 * @param keys that each family has
 * @param runs newest first
 */
private[snapshot] final class LiveBytes(keys: Map[Int, Long], runs: Seq[Run]) {

  /** Bytes that each family would take as one run, judged by what its entries take now. */
  val byFamily: Map[Int, Long] = {
    val files = runs.flatMap(_.files)
    keys.map { case (family, count) =>
      val entries = files.iterator.map(f => f.entries * share(f, family)).sum
      val bytes = files.iterator.map(bytesOf(_, family)).sum
      family -> (if (entries == 0) 0L else (bytes / entries * count).toLong)
    }
  }

  /** What a file has of a family. */
  def bytesOf(file: RunFile, family: Int): Double = file.bytes * share(file, family)

  /**
   * Where files are to be cut. The oldest run counts as a whole, also while most of it was removed: until its spans were
   * merged they are as large as it is.
   *
   * @param incoming bytes of the changes that come on top; of a first snapshot nothing else is known
   */
  def cuts(incoming: Long, numBuckets: Int, maxBytes: Long): BucketCuts = {
    val oldest = runs.lastOption.fold(Seq.empty[RunFile])(_.files)
    val known = byFamily.map { case (family, live) =>
      family -> math.max(live, oldest.iterator.map(bytesOf(_, family)).sum.toLong)
    }
    val all = math.max(1L, keys.values.sum)
    val bytes =
      if (incoming <= known.values.sum) known
      else keys.map { case (family, count) => family -> (incoming.toDouble * count / all).toLong }
    BucketCuts.of(bytes, numBuckets, maxBytes)
  }

  private def share(file: RunFile, family: Int): Double = {
    val families = file.buckets.map(_.family)
    if (!families.contains(family)) 0.0
    else if (families.size == 1) 1.0
    else {
      val all = families.iterator.map(keys.getOrElse(_, 0L)).sum
      if (all == 0) 1.0 / families.size else keys.getOrElse(family, 0L).toDouble / all
    }
  }
}
