package io.bucketstate.checkpoint.recovery

import io.bucketstate.error.CorruptException

/** What checksums of single files cannot tell: whether a file fits the others. */
private[checkpoint] object StoredChecks {

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
