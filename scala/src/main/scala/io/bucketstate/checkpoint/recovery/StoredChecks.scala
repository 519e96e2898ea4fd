package io.bucketstate.checkpoint.recovery

import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{ChangedSetting, CorruptException, InvalidException}
import io.bucketstate.record.BucketAssigner

/** What checksums of single files cannot tell: whether a file fits the settings of now, and the others. */
private[checkpoint] object StoredChecks {

  /** @param path the file as users find it */
  def buckets(
      path: String,
      numBuckets: Int,
      hashFunction: String,
      assigner: BucketAssigner
  ): Unit = {
    if (numBuckets != assigner.numBuckets) {
      val (stored, current) = (numBuckets.toString, assigner.numBuckets.toString)
      throw new InvalidException(
        s"$path was written with ${ConfigKey.NumBuckets.key}=$stored, it is now $current",
        s"The number of buckets is fixed for the life of a checkpoint: set it back to $stored, or " +
          "start from a new checkpoint location.",
        changed = Some(ChangedSetting(ConfigKey.NumBuckets.key, stored, current))
      )
    }
    if (hashFunction != BucketAssigner.HashName) {
      throw new InvalidException(
        s"$path was written with the hash function '$hashFunction', this version knows " +
          s"'${BucketAssigner.HashName}'",
        "It was written by a newer bucketstate: upgrade, or start from a new checkpoint location."
      )
    }
  }

  def miscounted(
      path: String,
      version: Long,
      family: String,
      expected: Long,
      found: Long
  ): CorruptException = new CorruptException(
    path,
    s"after version $version the column family '$family' should hold $expected keys, but the " +
      s"files give $found",
    "A file was replaced by one of another history. Restore the folder from a copy, or start from a " +
      "new checkpoint location."
  )
}
