package io.bucketstate.rocksdb

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import org.rocksdb.{BlockBasedTableConfig, FlushOptions, WriteOptions}

import io.bucketstate.config.RocksDbConfig
import io.bucketstate.rocksdb.Databases._
import io.bucketstate.testkit.TidySuite

class RocksDbPresetSuite extends TidySuite {

  test("there is one for each value of the setting") {
    assert(RocksDbPreset.all.map(_.name) == RocksDbConfig.Presets)
  }

  for (preset <- RocksDbPreset.all) {
    test(s"a database with ${preset.name} is written and read") {
      withOptions(Plain.copy(preset = preset.name)) { options =>
        withDatabase(options) { (db, families, _) =>
          Using.resources(new WriteOptions().setDisableWAL(true), new FlushOptions()) {
            (noLog, flush) =>
              for {
                family <- families
                i <- 0 until 1000
              }
                db.put(family, noLog, s"key $i".getBytes(UTF_8), s"value $i".getBytes(UTF_8))
              families.foreach(db.merge(_, noLog, "key 7".getBytes(UTF_8), "+".getBytes(UTF_8)))
              families.foreach(db.flush(flush, _))
          }
          for (family <- families) {
            assert(new String(db.get(family, "key 999".getBytes(UTF_8)), UTF_8) == "value 999")
            assert(new String(db.get(family, "key 7".getBytes(UTF_8)), UTF_8) == "value 7+")
            assert(db.get(family, "key".getBytes(UTF_8)) == null)
          }
        }
      }
    }

    test(s"every option of ${preset.name} arrives in the database") {
      withOptions(Plain.copy(preset = preset.name)) { options =>
        withDatabase(options) { (_, _, folder) =>
          val found = written(folder)
          val texts = RocksDbPreset.Base ++ preset.options
          for ((name, value) <- texts.db ++ texts.family)
            assert(found(s"$name=${plain(value)}"), name)
        }
      }
    }
  }

  test("the working folder stays small") {
    withOptions(Plain) { options =>
      withDatabase(options) { (_, _, folder) =>
        val bytes = folder.toFile.listFiles.map(_.length).sum
        assert(bytes < 100000, folder.toFile.list.toSeq)
      }
    }
  }

  test("all families read through the shared cache") {
    withShared { shared =>
      Using.resource(new NativeOptions(Plain.copy(preset = "small-memory"), shared)) { options =>
        withDatabase(options) { (db, families, _) =>
          val empty = shared.cache.getUsage
          families.foreach { family =>
            for (i <- 0 until 5000) db.put(family, s"key $i".getBytes(UTF_8), new Array[Byte](100))
            db.flush(new FlushOptions(), family)
            for (i <- 0 until 5000) assert(db.get(family, s"key $i".getBytes(UTF_8)) != null)
            val tables = options.family("default").tableFormatConfig
            assert(tables.asInstanceOf[BlockBasedTableConfig].partitionFilters)
          }
          assert(shared.cache.getUsage > empty + 1000000)
        }
      }
    }
  }

  /** As RocksDB writes it: numbers without a unit. */
  private def plain(value: String): String = value match {
    case Size(number, unit) => (number.toLong << (" KMG".indexOf(unit) * 10)).toString
    case other              => other
  }

  private val Size = "([0-9]+)([KMG])".r
}
