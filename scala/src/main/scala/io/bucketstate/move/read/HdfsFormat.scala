package io.bucketstate.move.read

import java.io.{DataInputStream, DataOutputStream, InputStream, OutputStream}
import java.nio.ByteOrder
import java.util.zip.CRC32C

import org.apache.spark.sql.execution.streaming.state.{SparkSessions, StateStoreConf}

/**
 * How Spark's `HDFSBackedStateStoreProvider` lays out its files, snapshots and deltas alike, within a compressed stream:
 *
 * {{{ (length of key i32 | key | length of value i32 | value)* | -1 }}}
 *
 * Keys and values are rows. A value of length -1 is a removal. With row checksums a CRC32C of key and value stands in front
 * of each value, and one of the key in front of each removed key, in the machine's byte order.
 */
private[move] object HdfsFormat {
  final val End = -1
  final val Removed = -1
  final val ChecksumBytes = 4

  def decompressed(from: InputStream, conf: StateStoreConf): DataInputStream =
    new DataInputStream(codec(conf).compressedInputStream(from))

  def compressed(to: OutputStream, conf: StateStoreConf): DataOutputStream =
    new DataOutputStream(codec(conf).compressedOutputStream(to))

  def hasChecksums(conf: StateStoreConf): Boolean =
    conf.sqlConfs.get("spark.sql.streaming.stateStore.rowChecksum.enabled").contains("true")

  /** The checksum of a key alone, or of a key and a value. */
  def checksum(key: Array[Byte], value: Array[Byte], from: Int): Int = {
    val crc = new CRC32C
    crc.update(key)
    if (value != null) crc.update(value, from, value.length - from)
    crc.getValue.toInt
  }

  def checksumOf(bytes: Array[Byte]): Int =
    java.nio.ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder).getInt(0)

  def put(checksum: Int, to: DataOutputStream): Unit =
    to.writeInt(
      if (ByteOrder.nativeOrder == ByteOrder.BIG_ENDIAN) checksum
      else Integer.reverseBytes(checksum)
    )

  private def codec(conf: StateStoreConf) =
    SparkSessions.codec(conf.compressionCodec)
}
