package io.bucketstate.rocksdb

/**
 * What the native options of a database start from, as texts that RocksDB parses. Pure.
 *
 * @param name a value of `rocksdb.preset`
 */
final case class RocksDbPreset(name: String, options: OptionTexts)

object RocksDbPreset {

  /**
   * The options of every database. A working folder is one of many, each is thrown away with its store: one small log
   * of what went wrong, no figures written on a timer, no megabytes of disk reserved for a manifest, and no 15 threads to
   * open its files, which RocksDB else starts each time, however few these are. Indexes and filters lie in the shared
   * cache, where they count, and stay there for longer than blocks do; a filter says what a write buffer does not hold.
   */
  val Base: OptionTexts = OptionTexts(
    Map(
      "info_log_level" -> "WARN_LEVEL",
      "keep_log_file_num" -> "1",
      "max_log_file_size" -> "1M",
      "stats_dump_period_sec" -> "0",
      "stats_persist_period_sec" -> "0",
      "manifest_preallocation_size" -> "64K",
      "max_file_opening_threads" -> "2"
    ),
    Map(
      "compression" -> "kLZ4Compression",
      "level_compaction_dynamic_level_bytes" -> "true",
      "format_version" -> "6",
      "whole_key_filtering" -> "true",
      "cache_index_and_filter_blocks" -> "true",
      "cache_index_and_filter_blocks_with_high_priority" -> "true",
      "pin_l0_filter_and_index_blocks_in_cache" -> "true",
      "memtable_whole_key_filtering" -> "true",
      "memtable_prefix_bloom_size_ratio" -> "0.020000"
    )
  )

  private val Bloom = "filter_policy" -> "bloomfilter:10:false"

  /** For the many small stores of a query: flushes and files of a size that some hundred of them fit a machine. */
  val Default: RocksDbPreset = RocksDbPreset(
    "default",
    OptionTexts(
      Map("max_background_jobs" -> "2"),
      Map(
        "write_buffer_size" -> "16M",
        "target_file_size_base" -> "16M",
        "max_bytes_for_level_base" -> "64M",
        "block_size" -> "8K",
        Bloom
      )
    )
  )

  /** Seeks are dear: all files stay open, and several threads keep the levels low. */
  val SpinningDisk: RocksDbPreset = RocksDbPreset(
    "spinning-disk",
    OptionTexts(
      Map("max_background_jobs" -> "4", "max_open_files" -> "-1"),
      Map("compaction_style" -> "kCompactionStyleLevel")
    )
  )

  /** Larger steps for fewer seeks, for memory: up to 256 MiB of write buffers in each column family. */
  val SpinningDiskHighMemory: RocksDbPreset = RocksDbPreset(
    "spinning-disk-high-memory",
    SpinningDisk.options ++ OptionTexts(
      Map.empty,
      Map(
        "write_buffer_size" -> "64M",
        "max_write_buffer_number" -> "4",
        "target_file_size_base" -> "256M",
        "max_bytes_for_level_base" -> "1G",
        "block_size" -> "128K",
        Bloom
      )
    )
  )

  /** Reads are cheap at any place. */
  val FlashSsd: RocksDbPreset = RocksDbPreset(
    "flash-ssd",
    OptionTexts(Map("max_background_jobs" -> "4", "max_open_files" -> "-1"), Map.empty)
  )

  /** Small buffers; indexes and filters are read by pages, and files are closed when many are open. */
  val SmallMemory: RocksDbPreset = RocksDbPreset(
    "small-memory",
    OptionTexts(
      Map("max_background_jobs" -> "2", "max_open_files" -> "256"),
      Map(
        "write_buffer_size" -> "4M",
        "arena_block_size" -> "256K",
        "target_file_size_base" -> "8M",
        "max_bytes_for_level_base" -> "32M",
        "block_size" -> "16K",
        "index_type" -> "kTwoLevelIndexSearch",
        "partition_filters" -> "true",
        "metadata_block_size" -> "4K",
        Bloom
      )
    )
  )

  val all: Seq[RocksDbPreset] =
    Seq(Default, SpinningDisk, SpinningDiskHighMemory, FlashSsd, SmallMemory)

  /** The preset of that name, which is one of `RocksDbConfig.Presets`. */
  def of(name: String): RocksDbPreset = all.find(_.name == name).get
}
