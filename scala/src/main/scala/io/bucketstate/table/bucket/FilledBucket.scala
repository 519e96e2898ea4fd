package io.bucketstate.table.bucket

/**
 * What the cold part of a floor has of a bucket, read ahead: seen by nobody until the writer makes it part of a bucket.
 *
 * @param floor version of the cold part
 */
private[table] final class FilledBucket(val floor: Long, val bucket: Bucket)
