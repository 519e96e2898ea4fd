package io.bucketstate.table

import java.util.Arrays

/** Keys by their bytes, unsigned and lexicographic. Pure. */
private[table] object KeyRange {

  /** What comes first behind all that starts with `prefix`; null if nothing does. */
  def afterPrefix(prefix: Array[Byte]): Array[Byte] = {
    var length = prefix.length
    while (length > 0 && prefix(length - 1) == -1) length -= 1
    if (length == 0) null
    else {
      val bound = Arrays.copyOf(prefix, length)
      bound(length - 1) = (bound(length - 1) + 1).toByte
      bound
    }
  }

  /** What comes first behind the key of a record. */
  def afterKeyOf(record: Array[Byte]): Array[Byte] = {
    val start = Record.keyStart(record)
    Arrays.copyOf(
      Arrays.copyOfRange(record, start, Record.keyEnd(record)),
      Record.keyEnd(record) - start + 1
    )
  }

  def isEmpty(from: Array[Byte], until: Array[Byte]): Boolean =
    from != null && until != null && Arrays.compareUnsigned(from, until) >= 0
}
