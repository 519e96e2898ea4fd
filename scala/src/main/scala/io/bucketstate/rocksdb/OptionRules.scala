package io.bucketstate.rocksdb

import io.bucketstate.config.{NativeKey, RocksDbConfig}
import io.bucketstate.error.InvalidException

/** Which native options users cannot give, and why. What is left RocksDB parses itself. Pure. */
object OptionRules {

  /** Throws InvalidException with key, value and reason for the first, in order of the keys, that cannot be given. */
  def check(wanted: OptionTexts): Unit = {
    wanted.db.toSeq.sorted.foreach { case (name, value) =>
      check(NativeKey.db(name), name, value, reasonOfDb)
    }
    wanted.family.toSeq.sorted.foreach { case (name, value) =>
      check(NativeKey.cf(name), name, value, reasonOfFamily(_, value))
    }
  }

  /** Whether users can give an option of a database of that name, if RocksDB knows it. */
  def allowsDb(name: String): Boolean = reasonOfDb(name).isEmpty

  /** Whether users can give an option of a column family, or of its tables, of that name, if RocksDB knows it. */
  def allowsFamily(name: String): Boolean = reasonOfFamily(name, "").isEmpty

  /** Why which names cannot be given, whatever their value: by group and name, in their order. */
  def reasons: Seq[(String, String)] =
    (of(RocksDbConfig.Db, DbReasons) ++ of(RocksDbConfig.Cf, FamilyReasons)).sorted

  private def of(group: String, reasons: Seq[(Set[String], String)]): Seq[(String, String)] =
    reasons.flatMap { case (names, why) => names.toSeq.map(name => s"$group.$name" -> why) }

  private def check(
      key: String,
      name: String,
      value: String,
      reason: String => Option[String]
  ): Unit = {
    def refuse(why: String, remedy: String) =
      throw new InvalidException(s"$key is '$value': $why", remedy)
    reason(name).foreach(refuse(_, s"Remove $key."))
    // In the file that RocksDB parses these would end a value, or a line.
    if (!name.matches("[A-Za-z0-9_]+")) refuse("no option of RocksDB has such a name", Words)
    if (!value.matches("[^#\\p{Cntrl}]+")) refuse("it has a '#' or a control character", Words)
    // RocksDB takes them for huge numbers, or ends the process.
    if (value.matches("-[0-9]+.*") && !Negative(name))
      refuse("this option cannot be below 0", "Set it to an allowed value, or remove it.")
  }

  private def reasonOfDb(name: String): Option[String] =
    DbReasons.collectFirst { case (names, reason) if names(name) => reason }

  private def reasonOfFamily(name: String, value: String): Option[String] =
    if (name == "compaction_style" && value == "kCompactionStyleFIFO")
      Some("this style drops the oldest records, and state would be lost")
    else FamilyReasons.collectFirst { case (names, reason) if names(name) => reason }

  private val Words =
    "Give the name as RocksDB has it, such as max_background_jobs, and a value as RocksDB writes it."

  private val Negative = Set(
    "max_open_files",
    "max_background_compactions",
    "max_background_flushes",
    "max_write_buffer_number_to_maintain",
    "max_write_buffer_size_to_maintain",
    "table_cache_numshardbits"
  )

  private val DbReasons: Seq[(Set[String], String)] = Seq(
    Set("create_if_missing", "create_missing_column_families", "error_if_exists") ->
      "the engine itself decides when a database is made",
    Set("atomic_flush", "enable_pipelined_write", "unordered_write", "best_efforts_recovery") ->
      "the engine relies on writes of all column families in their order, and on flushes of all of them together",
    Set("avoid_flush_during_shutdown") -> "a database is deleted when it is closed",
    Set(
      "wal_dir",
      "WAL_ttl_seconds",
      "WAL_size_limit_MB",
      "wal_bytes_per_sync",
      "wal_compression",
      "wal_filter",
      "wal_recovery_mode",
      "wal_write_temperature",
      "manual_wal_flush",
      "max_total_wal_size",
      "recycle_log_file_num",
      "two_write_queues",
      "allow_2pc",
      "track_and_verify_wals_in_manifest",
      "background_close_inactive_wals"
    ) -> "the engine writes no log of RocksDB's: changelogs are in the checkpoint instead",
    Set("write_buffer_manager", "db_write_buffer_size", "row_cache") ->
      "memory is shared by all stores of an executor, which memory.maxBytes limits",
    Set("rate_limiter") -> "it is shared by all stores of an executor",
    Set("env", "file_system", "db_paths", "db_log_dir", "sst_file_manager") ->
      "the engine's files lie in the store's working folder: localDir says where",
    Set("persist_stats_to_disk") -> "it would add a column family that is of no store",
    Set("statistics", "info_log", "listeners", "file_checksum_gen_factory", "compaction_service") ->
      s"it is an object, and has no text: use rocksdb.optionsFactory"
  )

  private val FamilyReasons: Seq[(Set[String], String)] = Seq(
    Set("comparator", "persist_user_defined_timestamps") ->
      "the engine relies on keys in the order of their bytes",
    Set("merge_operator") -> "the engine has its own, for state with several values for a key",
    Set("compaction_filter", "compaction_filter_factory") ->
      "it drops records, and only the engine knows which can go",
    Set("prefix_extractor", "memtable_factory") ->
      "scans rely on all keys of a column family being in one order",
    Set("min_write_buffer_number_to_merge") ->
      "all column families are flushed together, and RocksDB takes it for 1 then",
    Set("inplace_update_support") -> "it changes what a reader of an older version sees",
    Set("block_cache", "block_cache_compressed", "no_block_cache", "persistent_cache") ->
      "the block cache is shared by all stores of an executor, and memory.maxBytes limits it",
    Set(
      "table_factory",
      "block_based_table_factory",
      "plain_table_factory",
      "cuckoo_table_factory"
    ) -> "tables are of blocks: give their options one by one, such as rocksdb.options.cf.block_size",
    Set("cf_paths") -> "the engine's files lie in the store's working folder: localDir says where",
    TableOptions.Unreachable -> "RocksDB has no way to set it from Java"
  )
}
