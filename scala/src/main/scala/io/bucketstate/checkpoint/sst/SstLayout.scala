package io.bucketstate.checkpoint.sst

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.US_ASCII
import java.util.Map

import io.bucketstate.checkpoint.io.{ByteSlice, Damage}

/**
 * What a file says of itself.
 *
 * @param entries how many keys it has
 * @param filter  over all keys; null if there is none
 */
private[checkpoint] final case class SstLayout(entries: Long, index: SstParts, filter: SstRoot)

private[checkpoint] object SstLayout {
  import SstProperties._

  val Properties = "rocksdb.properties"
  val Index = "rocksdb.index"

  /**
   * The prefix extractor of files that RocksDB's library wrote for this project: prefixes that are longer than
   * any key, so that a filter over prefixes is one over whole keys.
   */
  private val LongPrefix = "rocksdb.CappedPrefix.1073741824"

  /** Throws `CorruptException` if it is damaged, or has what no writer of this project makes. */
  def read(blocks: SstBlocks, metaindex: SstHandle, damage: Damage): SstLayout =
    damage.guard("list of its parts") {
      val parts = SstValues.byName(blocks.read(metaindex, "metaindex"))
      val properties =
        SstValues.byName(blocks.read(place(parts, Properties, damage), "properties"))
      requirePlain(parts, damage)
      requireKnown(properties, damage)
      SstLayout(
        number(properties, Entries),
        SstParts.read(
          blocks,
          SstRoot(place(parts, Index, damage), typeOf(properties) == Parted),
          "index"
        ),
        filterOf(parts, properties, damage)
      )
    }

  private def filterOf(
      parts: Map[String, ByteSlice],
      properties: Map[String, ByteSlice],
      damage: Damage
  ): SstRoot =
    if (!isOfWholeKeys(properties)) null
    else if (parts.containsKey(SstFilter.Whole))
      SstRoot(place(parts, SstFilter.Whole, damage), isParted = false)
    else if (parts.containsKey(SstFilter.Parted))
      SstRoot(place(parts, SstFilter.Parted, damage), isParted = true)
    else null

  private def place(parts: Map[String, ByteSlice], name: String, damage: Damage): SstHandle = {
    val value = parts.get(name)
    if (value == null) throw damage(s"expected a part $name, found none")
    new SstBytes(value).handle()
  }

  /** Refuses parts that change what the blocks mean. */
  private def requirePlain(parts: Map[String, ByteSlice], damage: Damage): Unit =
    if (parts.containsKey("rocksdb.compression_dict") || parts.containsKey("rocksdb.range_del"))
      throw damage("expected no dictionary and no range deletions, found such a part")

  private def requireKnown(properties: Map[String, ByteSlice], damage: Damage): Unit = {
    val indexType = typeOf(properties)
    if (
      (indexType != OneBlock && indexType != Parted) ||
      number(properties, IndexKeyIsUserKey) != 1 || number(properties, IndexValueIsDelta) != 1 ||
      text(properties, Comparator) != Bytewise
    ) {
      throw damage(
        "expected an index of user keys with delta-encoded values in the order of bytes, in one " +
          "block or in parts, found another kind of index"
      )
    }
  }

  private def isOfWholeKeys(properties: Map[String, ByteSlice]): Boolean =
    text(properties, WholeKeyFilter) == "1" || (text(properties, PrefixFilter) == "1" &&
      text(properties, PrefixExtractor) == LongPrefix)

  /** A number in 4 bytes; -1 if there is none. */
  private def typeOf(properties: Map[String, ByteSlice]): Int = {
    val value = properties.get(IndexType)
    if (value == null || value.length != 4) -1
    else Integer.reverseBytes(ByteBuffer.wrap(value.array).getInt(value.offset))
  }

  private def text(properties: Map[String, ByteSlice], name: String): String = {
    val value = properties.get(name)
    if (value == null) "" else new String(value.array, value.offset, value.length, US_ASCII)
  }

  private def number(properties: Map[String, ByteSlice], name: String): Long = {
    val value = properties.get(name)
    if (value == null) 0 else new SstBytes(value).varint()
  }
}
