package io.bucketstate.move.write

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/**
 * Rows as places and values for another provider: keys are told apart by the bytes of their rows, values of one key by their
 * number. Not thread-safe.
 */
private[move] object ExportMaker {

  /** @param index of the value among those of its key */
  def apply(
      partition: Int,
      family: Int,
      key: UnsafeRow,
      index: Int,
      value: UnsafeRow
  ): (Array[Byte], Array[Byte]) = {
    val size = key.getSizeInBytes
    val place = new Array[Byte](Place.Header + size + IndexBytes)
    Place.put(place, partition, family, 0)
    key.writeToMemory(
      place,
      org.apache.spark.unsafe.Platform.BYTE_ARRAY_OFFSET.toLong + Place.Header
    )
    var i = 0
    while (i < IndexBytes) {
      place(place.length - 1 - i) = (index >>> (8 * i)).toByte
      i += 1
    }
    // A row may lie in an array that the next one is written into.
    (place, value.copy().getBytes)
  }

  /** The bytes of the key's row. */
  def key(place: Array[Byte]): Array[Byte] =
    java.util.Arrays.copyOfRange(place, Place.Header, place.length - IndexBytes)

  /** Whether it is the first value of its key. */
  def isFirst(place: Array[Byte]): Boolean = {
    var i = place.length - IndexBytes
    while (i < place.length && place(i) == 0) i += 1
    i == place.length
  }

  private final val IndexBytes = 4
}
