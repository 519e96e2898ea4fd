package io.bucketstate.checkpoint.run

/** What look-ups need of a file besides its data blocks. Thread-safe. */
private[run] trait LookUpPart {

  /** Heap that it takes, in bytes. */
  def heapBytes: Long
}
