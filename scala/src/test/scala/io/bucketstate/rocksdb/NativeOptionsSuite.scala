package io.bucketstate.rocksdb

import org.rocksdb.BlockBasedTableConfig
import org.scalatest.concurrent.Eventually
import org.scalatest.time.{Millis, Seconds, Span}

import io.bucketstate.config.{ConfigKey, RocksDbConfig}
import io.bucketstate.error.InvalidException
import io.bucketstate.rocksdb.Databases._
import io.bucketstate.testkit.TidySuite

class NativeOptionsSuite extends TidySuite with Eventually {

  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(20, Seconds), interval = Span(20, Millis))

  private val options = ConfigKey.RocksDbOptions.key

  private def db(entries: (String, String)*): RocksDbConfig = Plain.copy(dbOptions = entries.toMap)
  private def cf(entries: (String, String)*): RocksDbConfig = Plain.copy(cfOptions = entries.toMap)

  private def refused(config: RocksDbConfig): String =
    intercept[InvalidException](withOptions(config)(_ => ())).getMessage

  test("settings come over the preset, which comes over what every database has") {
    val config = RocksDbConfig(
      "small-memory",
      Map("max_background_jobs" -> "3", "info_log_level" -> "ERROR_LEVEL"),
      Map("write_buffer_size" -> "2m", "block_size" -> "1024", "filter_policy" -> "bloomfilter:15"),
      None
    )
    withOptions(config) { native =>
      assert(native.db.maxBackgroundJobs == 3 && native.db.maxOpenFiles == 256)
      val family = native.family("default")
      assert(family.writeBufferSize == (2L << 20) && family.arenaBlockSize == (256L << 10))
      assert(family.tableFormatConfig.asInstanceOf[BlockBasedTableConfig].blockSize == 1024)
      withDatabase(native) { (_, _, folder) =>
        val found = written(folder)
        for (
          line <- Seq(
            "info_log_level=ERROR_LEVEL",
            "filter_policy=bloomfilter:15:false",
            "atomic_flush=true",
            "create_missing_column_families=true",
            "partition_filters=true"
          )
        ) assert(found(line), line)
      }
    }
  }

  test("no filter, and texts of several parts") {
    val config = cf(
      "filter_policy" -> "nullptr",
      "compression_per_level" -> "kNoCompression:kLZ4Compression",
      "compaction_options_universal" -> "{size_ratio=2}"
    )
    withOptions(config) { native =>
      withDatabase(native) { (_, _, folder) =>
        val found = written(folder)
        assert(found("filter_policy=nullptr"))
        assert(found("compression_per_level=kNoCompression:kLZ4Compression"))
        assert(
          found.exists(l =>
            l.startsWith("compaction_options_universal={") && l.contains("size_ratio=2;")
          )
        )
      }
    }
  }

  test("an unknown name is refused with RocksDB's words and the nearest one") {
    val message = refused(db("max_open_files" -> "9", "max_backgroundjobs" -> "4"))
    assert(
      message.contains(
        s"$options.db.max_backgroundjobs is '4', which RocksDB refuses: Could not find option"
      )
    )
    assert(message.contains(s"Did you mean $options.db.max_background_jobs?"))
    assert(refused(cf("blok_size" -> "4K")).contains(s"Did you mean $options.cf.block_size?"))
  }

  test("a name of the other group is refused with its place") {
    assert(
      refused(db("write_buffer_size" -> "4M"))
        .contains(s"Did you mean $options.cf.write_buffer_size?")
    )
    assert(
      refused(cf("max_open_files" -> "4")).contains(s"Did you mean $options.db.max_open_files?")
    )
  }

  test("a bad value is refused with its key and RocksDB's words") {
    val cases = Seq(
      db(
        "max_background_jobs" -> "many"
      ) -> s"$options.db.max_background_jobs is 'many', which RocksDB refuses: Error parsing max_background_jobs",
      cf(
        "compression" -> "best"
      ) -> s"$options.cf.compression is 'best', which RocksDB refuses: Error parsing: compression",
      cf(
        "block_size" -> "x"
      ) -> s"$options.cf.block_size is 'x', which RocksDB refuses: Error parsing block_size",
      cf("num_levels" -> "-1") -> s"$options.cf.num_levels is '-1': this option cannot be below 0",
      cf(
        "filter_policy" -> "cuckoo"
      ) -> s"$options.cf.filter_policy is 'cuckoo': it must be bloomfilter:",
      cf("filter_policy" -> "bloomfilter:0") -> "from 1 to 100",
      db("max_open_files" -> "4 # all") -> "it has a '#' or a control character",
      db("max open files" -> "4") -> "no option of RocksDB has such a name"
    )
    for ((config, part) <- cases) {
      val message = refused(config)
      assert(message.contains(part), message)
    }
  }

  test("what the engine stands on cannot be changed, and it is said why") {
    val ofDb =
      Seq("create_if_missing", "atomic_flush", "manual_wal_flush", "wal_dir", "rate_limiter", "env")
    val ofCf =
      Seq("comparator", "merge_operator", "compaction_filter", "block_cache", "prefix_extractor")
    for (
      (config, name) <- ofDb.map(n => db(n -> "1") -> s"db.$n") ++ ofCf
        .map(n => cf(n -> "1") -> s"cf.$n")
    ) {
      val message = refused(config)
      assert(message.startsWith(s"$options.$name is '1': "))
      assert(message.endsWith(s". Remove $options.$name."))
    }
    assert(refused(cf("block_based_table_factory" -> "{block_size=4K}")).contains("cf.block_size"))
    assert(
      refused(cf("compaction_style" -> "kCompactionStyleFIFO")).contains("state would be lost")
    )
    withOptions(cf("compaction_style" -> "kCompactionStyleUniversal"))(_ => ())
  }

  test("what would be lost on the way through Java is refused") {
    val message = refused(cf("prepopulate_block_cache" -> "kFlushOnly"))
    assert(message.contains("RocksDB has no way to set it from Java"))
  }

  test("of each option of RocksDB's tables it is known whether it can be set") {
    val tables = TableOptions.Names ++ TableOptions.Unreachable
    withOptions(Plain) { native =>
      withDatabase(native) { (_, _, folder) =>
        val file = folder.toFile.listFiles.filter(_.getName.startsWith("OPTIONS-")).maxBy(_.getName)
        val names = KnownOptions
          .parse(java.nio.file.Files.readString(file.toPath).split('\n').toSeq)
          .collect { case (section, name) if section.startsWith("[TableOptions") => name }
          .toSet
        assert(names -- tables == Set("no_block_cache"))
        assert(tables -- names == Set.empty)
      }
    }
  }

  test("options that are refused by name are not suggested") {
    val known = KnownOptions.read()
    assert(known.db("max_background_jobs") && known.family.size > 50)
    assert(!known.db("atomic_flush") && !known.family("comparator"))
  }

  test("a family has the same options each time, and others than its siblings; all are closed") {
    withShared { shared =>
      val native = new NativeOptions(Plain, shared)
      val (one, two) = (native.family("one"), native.family("two"))
      assert((native.family("one") eq one) && !(one eq two))
      val database = native.db
      native.close()
      native.close()
      assert(!Seq(one, two, database).exists(_.isOwningHandle))
      intercept[IllegalStateException](native.db)
      intercept[IllegalStateException](native.family("one"))
      assert(shared.cache.isOwningHandle && shared.writeBuffers.isOwningHandle)
    }
  }

  test("nothing is left in the folder for temporary files") {
    val folder = new java.io.File(System.getProperty("java.io.tmpdir"))
    def files = folder.list.filter(_.startsWith("bucketstate-")).toSet
    val before = files
    withOptions(Plain)(_.family("default"))
    refused(db("nothing_like_it" -> "1"))
    val made = (files -- before).filter(_.contains("options"))
    // What other processes have there just now goes, too.
    eventually(assert(files.intersect(made).isEmpty))
  }
}
