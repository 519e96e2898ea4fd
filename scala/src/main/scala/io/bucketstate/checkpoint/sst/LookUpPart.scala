package io.bucketstate.checkpoint.sst

/** What look-ups need of a file besides its data blocks. Thread-safe. */
private[checkpoint] trait LookUpPart {

  /** Heap that it takes, in bytes. */
  def heapBytes: Long
}
