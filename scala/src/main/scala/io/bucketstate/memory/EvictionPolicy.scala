package io.bucketstate.memory

import io.bucketstate.record.BucketResidence

/**
 * Which buckets leave memory first: those that were not used for longest, as in Apex's managed state. Where
 * keys are spread by a hash each batch uses every bucket; then those go first whose last eviction is longest
 * ago, so that each one's hot keys stay until it comes to it again. Pure.
 */
object EvictionPolicy {

  /**
   * @param inUseFrom buckets that were used at this version or later stay
   * @return what can go, in the order in which it should
   */
  def inOrder(buckets: Seq[BucketResidence], inUseFrom: Long): Seq[BucketResidence] =
    buckets
      .filter(b => b.evictable > 0 && b.lastUse < inUseFrom)
      .sortBy(b => (b.lastUse, b.lastEviction, -b.evictable))

  /**
   * What one of several stores should give up, so that all together come under the limit: each the same share of
   * what it has.
   *
   * @param own   bytes of this one
   * @param total bytes of all
   */
  def shareOf(own: Long, total: Long, limit: Long): Long =
    if (total <= limit) 0L
    else Math.ceil(own.toDouble * (total - limit * Target) / total).toLong

  /** What is aimed at, as a share of the limit, so that not each batch has something to evict. */
  private final val Target = 0.95
}
