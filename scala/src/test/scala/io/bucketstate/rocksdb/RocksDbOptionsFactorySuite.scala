package io.bucketstate.rocksdb

import scala.util.Using

import org.rocksdb.BlockBasedTableConfig

import io.bucketstate.config.{ConfigKey, RocksDbConfig}
import io.bucketstate.error.InvalidException
import io.bucketstate.rocksdb.Databases._
import io.bucketstate.testkit.TidySuite

class RocksDbOptionsFactorySuite extends TidySuite {

  private def named(factory: Class[_]): RocksDbConfig =
    Plain.copy(optionsFactory = Some(factory.getName))

  private def refused(config: RocksDbConfig): String = {
    val error = intercept[InvalidException](withOptions(config)(_.family("default")))
    assert(error.getMessage.startsWith(ConfigKey.RocksDbOptionsFactory.key + " is "))
    error.getMessage
  }

  test("it has the last word on options, but not on what the engine stands on") {
    withOptions(named(classOf[ChangingFactory])) { options =>
      assert(options.db.maxOpenFiles == 77)
      assert(options.db.createIfMissing && options.db.atomicFlush)
      assert(options.family("other").writeBufferSize == 123456)
      assert(options.family("default").writeBufferSize == (16L << 20))
      val tables = options.family("default").tableFormatConfig.asInstanceOf[BlockBasedTableConfig]
      assert(tables.blockSize == 2048 && !tables.noBlockCache)
      withDatabase(options) { (_, _, folder) =>
        val found = written(folder)
        assert(found("filter_policy=bloomfilter:14:false") && found("block_size=2048"))
        assert(found("comparator=leveldb.BytewiseComparator"))
        assert(found("merge_operator=StringAppendOperator"))
        assert(found("inplace_update_support=false") && found("no_block_cache=false"))
      }
      assert(ChangingFactory.filters.forall(_.isOwningHandle))
    }
    assert(ChangingFactory.filters.nonEmpty && !ChangingFactory.filters.exists(_.isOwningHandle))
  }

  test("it may return other options than it is given; all are closed") {
    val (db, family) = withOptions(named(classOf[CopyingFactory])) { options =>
      withDatabase(options)((_, _, folder) => assert(written(folder)("write_buffer_size=16777216")))
      (options.db, options.family("other"))
    }
    assert(!db.isOwningHandle && !family.isOwningHandle)
  }

  test("a class that is not there, is no factory, or cannot be made") {
    val missing = refused(Plain.copy(optionsFactory = Some("no.such.Factory")))
    assert(missing.contains("is no.such.Factory, which is not on the class path."))
    assert(missing.contains("spark.jars"))
    assert(refused(named(classOf[NoFactory])).contains("is no io.bucketstate.rocksdb.RocksDbOpt"))
    val parameters = refused(named(classOf[ParameterFactory]))
    assert(parameters.contains("has no public constructor without parameters"))
    assert(refused(named(classOf[PlainFactory])).contains("is abstract"))
    val thrown = refused(named(classOf[FailingToBeMade]))
    assert(
      thrown.contains(
        "threw java.lang.IllegalArgumentException: requirement failed: not today when it was made"
      )
    )
  }

  test("a factory that throws leaves nothing open") {
    val thrown = refused(named(classOf[ThrowingFactory]))
    assert(thrown.contains("threw java.lang.IllegalStateException: no disk in db"))
    assert(!ThrowingFactory.seen.get.isOwningHandle)
  }

  test("a factory that returns nothing of use") {
    assert(refused(named(classOf[NullFactory])).contains("returned null from columnFamily"))
    assert(refused(named(classOf[ClosingFactory])).contains("returned closed options from db"))
  }

  test("a factory that would lose state, or the cache") {
    assert(refused(named(classOf[LosingFactory])).contains("drops the oldest records"))
    assert(refused(named(classOf[PlainTableFactory])).contains("Use a BlockBasedTableConfig."))
  }

  test("a factory that fails to close is named, after everything is closed") {
    withShared { shared =>
      val options = new NativeOptions(named(classOf[BadCloseFactory]), shared)
      val (db, family) = (options.db, options.family("default"))
      val error = intercept[InvalidException](options.close())
      assert(error.getMessage.contains("cannot close in close"))
      assert(!db.isOwningHandle && !family.isOwningHandle)
      Using.resource(options)(_ => ())
    }
  }
}
