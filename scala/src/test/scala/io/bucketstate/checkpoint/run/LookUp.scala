package io.bucketstate.checkpoint.run

import io.bucketstate.checkpoint.records.Lookup
import io.bucketstate.checkpoint.run.read.RunFileReader
import io.bucketstate.checkpoint.sst.hash.Xxph3

/** Asks one file for a key, as `RunReaders` does. */
private[run] object LookUp {
  def in(reader: RunFileReader, family: Int, bucket: Int, key: Array[Byte]): Lookup = {
    val wanted = RunFormat.keyOf(family, bucket, key)
    reader.get(wanted, Xxph3.hash(wanted, wanted.length), new LookUpTrace)
  }

  /** Whether its filter says that it may have a key. */
  def mayBeIn(reader: RunFileReader, family: Int, bucket: Int, key: Array[Byte]): Boolean = {
    val wanted = RunFormat.keyOf(family, bucket, key)
    reader.mayHave(wanted, Xxph3.hash(wanted, wanted.length), new LookUpTrace)
  }
}
