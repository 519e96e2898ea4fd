package io.bucketstate.checkpoint.run

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.US_ASCII
import java.util.Map

import io.bucketstate.checkpoint.io.{ByteSlice, Damage}

/**
 * What a file says of itself.
 *
 * @param entries how many keys it has
 * @param index   where the index lies
 */
private[run] final case class SstLayout(entries: Long, index: SstHandle)

private[run] object SstLayout {

  val Properties = "rocksdb.properties"
  val Index = "rocksdb.index"

  /**
   * None if something in the file is not read here, such as an index of several blocks: RocksDB then has to
   * read it. Throws `CorruptException` if it is damaged.
   */
  def read(blocks: SstBlocks, metaindex: SstHandle, damage: Damage): Option[SstLayout] =
    damage.guard("list of its parts") {
      val parts = SstValues.byName(blocks.read(metaindex, "metaindex"))
      val properties =
        SstValues.byName(blocks.read(place(parts, Properties, damage), "properties"))
      if (isStrange(parts) || !isKnown(properties)) None
      else Some(SstLayout(number(properties, "rocksdb.num.entries"), place(parts, Index, damage)))
    }

  private def place(parts: Map[String, ByteSlice], name: String, damage: Damage): SstHandle = {
    val value = parts.get(name)
    if (value == null) throw damage(s"expected a part $name, found none")
    new SstBytes(value).handle()
  }

  /** Parts that change what the blocks mean. */
  private def isStrange(parts: Map[String, ByteSlice]): Boolean =
    parts.containsKey("rocksdb.compression_dict") || parts.containsKey("rocksdb.range_del")

  private def isKnown(properties: Map[String, ByteSlice]): Boolean =
    isBinarySearch(properties.get("rocksdb.block.based.table.index.type")) &&
      number(properties, "rocksdb.index.key.is.user.key") == 1 &&
      number(properties, "rocksdb.index.value.is.delta.encoded") == 1 &&
      text(properties, "rocksdb.comparator") == "leveldb.BytewiseComparator" &&
      (text(properties, "rocksdb.compression") match {
        case "NoCompression" | "Snappy" | "LZ4" | "ZSTD" => true
        case _                                           => false
      })

  /** Type 0, in 4 bytes. */
  private def isBinarySearch(value: ByteSlice): Boolean =
    value != null && value.length == 4 && ByteBuffer.wrap(value.array).getInt(value.offset) == 0

  private def text(properties: Map[String, ByteSlice], name: String): String = {
    val value = properties.get(name)
    if (value == null) "" else new String(value.array, value.offset, value.length, US_ASCII)
  }

  private def number(properties: Map[String, ByteSlice], name: String): Long = {
    val value = properties.get(name)
    if (value == null) 0 else new SstBytes(value).varint()
  }
}
