package io.bucketstate.rocksdb

import org.rocksdb.{BloomFilter, Filter}

import io.bucketstate.config.NativeKey
import io.bucketstate.error.InvalidException

/** The options of tables, which users give like those of column families but RocksDB keeps apart from them. */
object TableOptions {

  /** Those that Java's `BlockBasedTableConfig` carries: with the shared cache, it replaces what RocksDB parsed. */
  val Names: Set[String] = Set(
    "block_align",
    "block_restart_interval",
    "block_size",
    "block_size_deviation",
    "cache_index_and_filter_blocks",
    "cache_index_and_filter_blocks_with_high_priority",
    "checksum",
    "data_block_hash_table_util_ratio",
    "data_block_index_type",
    "enable_index_compression",
    "filter_policy",
    "format_version",
    "index_block_restart_interval",
    "index_shortening",
    "index_type",
    "metadata_block_size",
    "optimize_filters_for_memory",
    "partition_filters",
    "pin_l0_filter_and_index_blocks_in_cache",
    "pin_top_level_index_and_filter",
    "read_amp_bytes_per_bit",
    "use_delta_encoding",
    "verify_compression",
    "whole_key_filtering"
  )

  /** Those that it does not carry, so that they would be lost in silence. */
  val Unreachable: Set[String] = Set(
    "decouple_partitioned_filters",
    "detect_filter_construct_corruption",
    "flush_block_policy_factory",
    "initial_auto_readahead_size",
    "max_auto_readahead_size",
    "metadata_cache_options",
    "num_file_reads_for_auto_readahead",
    "prepopulate_block_cache"
  )

  /** The one option that is not left to RocksDB, which takes what it does not know for no filter. */
  val FilterPolicy = "filter_policy"

  /**
   * A new filter by its text, to be closed by the caller; None for no filter. Throws InvalidException for a text that
   * is none.
   */
  def filter(text: String): Option[Filter] = bits(text).map(new BloomFilter(_))

  /** Bits for each key. */
  def bits(text: String): Option[Double] = text match {
    case "nullptr"                                               => None
    case Bloom(number) if (1 to MostBits).contains(number.toInt) => Some(number.toDouble)
    case _                                                       =>
      throw new InvalidException(
        s"${NativeKey.cf(FilterPolicy)} is '$text': it must be bloomfilter:<bits for each key, from 1 to $MostBits>, " +
          "such as bloomfilter:10, or nullptr for no filter",
        "Set it to an allowed value, or remove it to use the preset's."
      )
  }

  private val Bloom = "bloomfilter:([0-9]{1,3})(?::false)?".r
  private final val MostBits = 100
}
