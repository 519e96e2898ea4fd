package io.bucketstate.record

/**
 * A bucket's part in memory at one moment. Immutable.
 *
 * @param bytes        of heap, an estimate
 * @param evictable    about the most of them that an eviction would free now; 0 if it can free nothing
 * @param lastUse      the newest version at which it was read or written, key by key
 * @param lastEviction higher than for those of the family that were evicted before it, 0 if it never was
 */
final class BucketResidence(
    val family: Int,
    val bucket: Int,
    val bytes: Long,
    val evictable: Long,
    val lastUse: Long,
    val lastEviction: Long
)
