package io.bucketstate.config

import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.TidySuite

class RocksDbConfigSuite extends TidySuite {
  private val prefix = ConfigKey.Prefix

  private def parse(settings: (String, String)*): StoreConfig = StoreConfig.parse(
    settings.map { case (name, value) => prefix + name -> value }.toMap,
    SparkHonoured(100, 30, -1, 2, 10, "lz4", true, 1, 500, false, false)
  )

  private def refused(settings: (String, String)*): String =
    intercept[InvalidException](parse(settings: _*)).getMessage

  test("without settings it is the heap, and a database would have the default options") {
    val config = parse()
    assert(config.engine == Engine.Heap)
    assert(config.rocksDb == RocksDbConfig("default", Map.empty, Map.empty, None))
  }

  test("options come by group and name; which names there are is not known here") {
    val config = parse(
      "engine" -> "rocksdb",
      "rocksdb.preset" -> "flash-ssd",
      "rocksdb.options.db.max_background_jobs" -> " 4 ",
      "rocksdb.options.cf.write_buffer_size" -> "8m",
      "rocksdb.options.cf.some.thing" -> "1",
      "rocksdb.optionsFactory" -> "a.Factory"
    )
    assert(config.engine == Engine.RocksDb)
    assert(
      config.rocksDb == RocksDbConfig(
        "flash-ssd",
        Map("max_background_jobs" -> "4"),
        Map("write_buffer_size" -> "8m", "some.thing" -> "1"),
        Some("a.Factory")
      )
    )
  }

  test("with another engine they are kept and of no use") {
    val config = parse("engine" -> "heap", "rocksdb.options.db.max_open_files" -> "9")
    assert(config.engine == Engine.Heap && config.rocksDb.dbOptions.nonEmpty)
  }

  test("an option in no group, or without a name, is refused with the two it may have been") {
    for (name <- Seq("foo", "foo.max_open_files", "db", "db.", "DB.foo")) {
      val message = refused(s"rocksdb.options.$name" -> "1")
      assert(message.contains(s"Unknown setting ${prefix}rocksdb.options.$name"))
      assert(message.contains(s"Did you mean ${prefix}rocksdb.options.db."), message)
      assert(message.contains(s" or ${prefix}rocksdb.options.cf."), message)
    }
  }

  test("an unknown setting beside them is refused with the nearest") {
    assert(
      refused("rocksdb.presets" -> "flash-ssd").contains(s"Did you mean ${prefix}rocksdb.preset?")
    )
    assert(
      refused("rocksdb.option" -> "1").contains(
        s"Did you mean ${prefix}rocksdb.options.db.<name> or ${prefix}rocksdb.options.cf.<name>?"
      )
    )
    assert(
      refused("rocksdb.options" -> "1").contains(s"Did you mean ${prefix}rocksdb.options.db.<name>")
    )
  }

  test("a value that can be none is refused with its key and what is allowed") {
    val option = refused("rocksdb.options.cf.write_buffer_size" -> " ")
    assert(option.contains(s"${prefix}rocksdb.options.cf.write_buffer_size is ' '"))
    assert(refused("rocksdb.preset" -> "tape").contains("one of 'default', 'spinning-disk', "))
    assert(refused("rocksdb.optionsFactory" -> "").contains("must be a text that is not empty"))
  }
}
