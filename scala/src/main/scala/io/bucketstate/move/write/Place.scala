package io.bucketstate.move.write

import java.util.Arrays

import org.apache.spark.Partitioner

/**
 * Where a record goes, as bytes that sort as a store's files do: partition, column family and bucket as big-endian numbers of
 * 4, 2 and 2 bytes, then what tells the records of a bucket apart.
 */
private[move] object Place {

  /** A record on its way: its place, and its value. */
  type Moved = (Array[Byte], Array[Byte])

  final val Header = 8

  def put(target: Array[Byte], partition: Int, family: Int, bucket: Int): Unit = {
    target(0) = (partition >> 24).toByte
    target(1) = (partition >> 16).toByte
    target(2) = (partition >> 8).toByte
    target(3) = partition.toByte
    target(4) = (family >> 8).toByte
    target(5) = family.toByte
    target(6) = (bucket >> 8).toByte
    target(7) = bucket.toByte
  }

  def partition(place: Array[Byte]): Int =
    (place(0) & 0xff) << 24 | (place(1) & 0xff) << 16 | (place(2) & 0xff) << 8 | (place(3) & 0xff)

  def family(place: Array[Byte]): Int = (place(4) & 0xff) << 8 | (place(5) & 0xff)

  def bucket(place: Array[Byte]): Int = (place(6) & 0xff) << 8 | (place(7) & 0xff)

  val ordering: Ordering[Array[Byte]] =
    (a: Array[Byte], b: Array[Byte]) => Arrays.compareUnsigned(a, b)
}

/** Records to the partitions that their places name. */
private[move] final class ByPlace(override val numPartitions: Int) extends Partitioner {
  override def getPartition(key: Any): Int = Place.partition(key.asInstanceOf[Array[Byte]])

  override def equals(other: Any): Boolean = other match {
    case that: ByPlace => that.numPartitions == numPartitions
    case _             => false
  }

  override def hashCode: Int = numPartitions
}
