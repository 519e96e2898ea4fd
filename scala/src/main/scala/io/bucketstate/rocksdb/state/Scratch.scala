package io.bucketstate.rocksdb.state

import io.bucketstate.checkpoint.run.RunFormat
import io.bucketstate.record.RecordBuffer

/**
 * Room of one thread for the keys and values that it hands to RocksDB and is handed: a look-up allocates its answer alone.
 * That of a large value goes with the look-up, because threads stay.
 */
private[rocksdb] final class Scratch {
  import Scratch._

  private[this] var keySpace = new Array[Byte](256)
  private[this] var valueSpace = new Array[Byte](FirstLength)

  def key: Array[Byte] = keySpace

  def value: Array[Byte] = valueSpace

  /** The value has so many bytes: there is room for all of them when this returns. */
  def growValue(length: Int): Unit =
    valueSpace =
      new Array[Byte](if (length > MostKept) length else Math.max(length, valueSpace.length * 2))

  /** Puts a key as databases have it into [[key]]; tells its length. */
  def putKey(family: Int, from: RecordBuffer): Int = {
    val length = RunFormat.PrefixLength + from.keyBytes
    if (keySpace.length < length) keySpace = new Array[Byte](length * 2)
    RunFormat.putPrefix(keySpace, RunFormat.prefix(family, from.bucket))
    from.copyKey(keySpace, RunFormat.PrefixLength)
    length
  }

  /** The record of the key in [[key]] with the value in [[value]], or null if that says that it was removed. */
  def record(keyLength: Int, valueLength: Int): Array[Byte] = {
    val found = StoredValues.record(keySpace, keyLength, valueSpace, valueLength)
    if (valueSpace.length > MostKept) valueSpace = new Array[Byte](FirstLength)
    found
  }
}

private[rocksdb] object Scratch {
  private final val FirstLength = 4096
  private final val MostKept = 1 << 20
  private val Own = ThreadLocal.withInitial[Scratch](() => new Scratch)

  def ofThread: Scratch = Own.get
}
