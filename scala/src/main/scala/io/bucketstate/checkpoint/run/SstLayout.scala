package io.bucketstate.checkpoint.run

import java.nio.charset.StandardCharsets.US_ASCII
import java.nio.{ByteBuffer, ByteOrder}

import io.bucketstate.checkpoint.io.{ByteSlice, Damage}

/**
 * What a file says of itself.
 *
 * @param entries how many keys it has
 * @param index   where the index lies
 */
private[run] final case class SstLayout(entries: Long, index: SstHandle)

private[run] object SstLayout {

  private val Properties = "rocksdb.properties"
  private val Index = "rocksdb.index"

  /** Parts that change what the blocks mean. */
  private val Strange = Seq("rocksdb.compression_dict", "rocksdb.range_del")

  private val Compressions = Set("NoCompression", "Snappy", "LZ4", "ZSTD")

  /**
   * None if something in the file is not read here, such as an index of several blocks: RocksDB then has to
   * read it. Throws `CorruptException` if it is damaged.
   */
  def read(blocks: SstBlocks, metaindex: SstHandle, damage: Damage): Option[SstLayout] =
    damage.guard("list of its parts") {
      val parts = SstValues.byName(blocks.read(metaindex, "metaindex"))
      def place(name: String): SstHandle =
        new SstBytes(parts.getOrElse(name, throw damage(s"expected $name, found none"))).handle()
      val properties = SstValues.byName(blocks.read(place(Properties), "properties"))
      if (Strange.exists(parts.contains) || !isKnown(properties)) None
      else Some(SstLayout(number(properties, "rocksdb.num.entries"), place(Index)))
    }

  private def isKnown(properties: collection.Map[String, ByteSlice]): Boolean = {
    def text(name: String): String = properties
      .get(name)
      .fold("")(v => new String(v.array, v.offset, v.length, US_ASCII))
    def fixed(name: String): Option[Int] = properties
      .get(name)
      .map(v => ByteBuffer.wrap(v.array, v.offset, v.length).order(ByteOrder.LITTLE_ENDIAN).getInt)
    fixed("rocksdb.block.based.table.index.type").contains(0) &&
    number(properties, "rocksdb.index.key.is.user.key") == 1 &&
    number(properties, "rocksdb.index.value.is.delta.encoded") == 1 &&
    text("rocksdb.comparator") == "leveldb.BytewiseComparator" &&
    Compressions.contains(text("rocksdb.compression"))
  }

  private def number(properties: collection.Map[String, ByteSlice], name: String): Long =
    properties.get(name).fold(0L)(new SstBytes(_).varint())
}
