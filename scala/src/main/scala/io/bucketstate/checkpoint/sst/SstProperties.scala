package io.bucketstate.checkpoint.sst

import java.nio.charset.StandardCharsets.US_ASCII
import java.util.{Locale, TreeMap, UUID}

import io.bucketstate.checkpoint.run.RunFormat

/**
 * What a file says of itself, by name, for RocksDB and for whoever looks at it with RocksDB's tools: those that
 * `SstFileWriter` writes (RocksDB's `table/table_properties.cc`), but for what only tells how it was set.
 */
private[checkpoint] object SstProperties {
  // Constants in the code of whoever reads them: a first look-up has no need of this class.
  final val Entries = "rocksdb.num.entries"
  final val IndexType = "rocksdb.block.based.table.index.type"
  final val IndexKeyIsUserKey = "rocksdb.index.key.is.user.key"
  final val IndexValueIsDelta = "rocksdb.index.value.is.delta.encoded"
  final val Comparator = "rocksdb.comparator"
  final val Compression = "rocksdb.compression"
  final val WholeKeyFilter = "rocksdb.block.based.table.whole.key.filtering"
  final val PrefixFilter = "rocksdb.block.based.table.prefix.filtering"
  final val PrefixExtractor = "rocksdb.prefix.extractor.name"

  final val Bytewise = "leveldb.BytewiseComparator"

  /** Kinds of index: RocksDB's `kBinarySearch` and `kTwoLevelIndexSearch`. */
  final val OneBlock = 0
  final val Parted = 2

  /** Where external files say so of themselves; ingestion asks for it. */
  private val ExternalVersion = 2

  /** RocksDB's `kUnknownColumnFamily`. */
  private val NoFamily = Int.MaxValue.toLong

  /** Sizes are in bytes, those of blocks without what stands behind them. */
  final case class Sizes(
      entries: Long,
      blocks: Long,
      rawKeys: Long,
      rawValues: Long,
      data: Long,
      parts: SstPartsBuilder.Written
  )

  /**
   * The properties' block, finished.
   *
   * @param id no other file has it: RocksDB's caches know files by what is made of it
   */
  def block(sizes: Sizes, compression: SstCompression, id: UUID): SstBlockBuilder = {
    val parts = sizes.parts
    val all = new TreeMap[String, Array[Byte]] // names are ASCII, which sorts as bytes do
    def number(name: String, n: Long): Unit = { all.put(name, varint(n)); () }
    def text(name: String, s: String): Unit = { all.put(name, s.getBytes(US_ASCII)); () }
    val isParted = parts.index.root.isParted
    all.put(IndexType, Array[Byte](if (isParted) Parted else OneBlock, 0, 0, 0))
    text(PrefixFilter, "0")
    text(WholeKeyFilter, "1")
    number("rocksdb.column.family.id", NoFamily)
    text(Comparator, Bytewise)
    text(Compression, compression.name)
    text("rocksdb.creating.db.identity", "SST Writer")
    text("rocksdb.creating.host.identity", "bucketstate")
    text("rocksdb.creating.session.identity", session(id))
    number("rocksdb.creation.time", 0)
    number("rocksdb.data.size", sizes.data)
    number("rocksdb.deleted.keys", 0)
    all.put("rocksdb.external_sst_file.global_seqno", new Array[Byte](8))
    all.put("rocksdb.external_sst_file.version", Array[Byte](ExternalVersion.toByte, 0, 0, 0))
    if (parts.filter.bytes > 0) text("rocksdb.filter.policy", SstFilter.Policy)
    number("rocksdb.filter.size", parts.filter.bytes)
    number("rocksdb.fixed.key.length", 0)
    number("rocksdb.format.version", RunFormat.TableFormat.toLong)
    number(IndexKeyIsUserKey, 1)
    if (isParted) number("rocksdb.index.partitions", parts.parts.toLong)
    number("rocksdb.index.size", parts.index.bytes)
    number(IndexValueIsDelta, 1)
    number("rocksdb.key.largest.seqno", 0)
    number("rocksdb.merge.operands", 0)
    text("rocksdb.merge.operator", "nullptr")
    number("rocksdb.num.data.blocks", sizes.blocks)
    number(Entries, sizes.entries)
    number("rocksdb.num.filter_entries", parts.filtered)
    number("rocksdb.num.range-deletions", 0)
    number("rocksdb.oldest.key.time", 0)
    number("rocksdb.original.file.number", 1)
    text(PrefixExtractor, "nullptr")
    text("rocksdb.property.collectors", "[]")
    number("rocksdb.raw.key.size", sizes.rawKeys)
    number("rocksdb.raw.value.size", sizes.rawValues)
    number("rocksdb.tail.start.offset", sizes.data)
    if (isParted) number("rocksdb.top-level.index.size", parts.index.listBytes)
    val builder = new SstBlockBuilder(restartInterval = Int.MaxValue)
    all.forEach((name, value) => builder.add(name.getBytes(US_ASCII), value))
    builder.finish()
    builder
  }

  /** 20 digits of base 36, as RocksDB names what wrote a file. */
  private def session(id: UUID): String =
    digits(id.getMostSignificantBits >>> 23, 8) + digits(id.getLeastSignificantBits << 2 >>> 2, 12)

  private def digits(n: Long, count: Int): String = {
    val some = java.lang.Long.toString(n, 36).toUpperCase(Locale.ROOT)
    "0" * (count - some.length) + some
  }

  private def varint(n: Long): Array[Byte] = {
    val bytes = new Array[Byte](10)
    bytes.take(SstHandle.putVarint(bytes, 0, n))
  }
}
