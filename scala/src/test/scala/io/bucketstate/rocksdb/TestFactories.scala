package io.bucketstate.rocksdb

import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable

import org.rocksdb._

/** Factories as users write them, and wrong ones. */
abstract class PlainFactory extends RocksDbOptionsFactory {
  override def db(current: DBOptions): DBOptions = current
  override def columnFamily(name: String, current: ColumnFamilyOptions): ColumnFamilyOptions =
    current
}

/** Changes one of each, keeps a filter, and tries to change what the engine stands on. */
class ChangingFactory extends PlainFactory {
  private val filter = new BloomFilter(14)
  ChangingFactory.filters += filter

  override def db(current: DBOptions): DBOptions =
    current.setMaxOpenFiles(77).setCreateIfMissing(false).setAtomicFlush(false)

  override def columnFamily(name: String, current: ColumnFamilyOptions): ColumnFamilyOptions = {
    current
      .setMergeOperatorName("uint64add")
      .setComparator(BuiltinComparator.REVERSE_BYTEWISE_COMPARATOR)
      .setInplaceUpdateSupport(true)
      .setTableFormatConfig(
        new BlockBasedTableConfig().setBlockSize(2048).setNoBlockCache(true).setFilterPolicy(filter)
      )
    if (name == "other") current.setWriteBufferSize(123456)
    else current
  }

  override def close(): Unit = filter.close()
}

object ChangingFactory {
  val filters: mutable.Buffer[BloomFilter] = mutable.Buffer.empty
}

/** Returns others than it is given. */
class CopyingFactory extends RocksDbOptionsFactory {
  override def db(current: DBOptions): DBOptions = new DBOptions(current)
  override def columnFamily(name: String, current: ColumnFamilyOptions): ColumnFamilyOptions =
    new ColumnFamilyOptions(current)
}

class ThrowingFactory extends PlainFactory {
  override def db(current: DBOptions): DBOptions = {
    ThrowingFactory.seen = Some(current)
    throw new IllegalStateException("no disk")
  }
}

object ThrowingFactory {
  @volatile var seen: Option[DBOptions] = None
}

/** Says how many were made, and what options they saw. */
class CountedFactory extends PlainFactory {
  CountedFactory.made.incrementAndGet()

  override def columnFamily(name: String, current: ColumnFamilyOptions): ColumnFamilyOptions = {
    CountedFactory.seen = Some(name -> current)
    current
  }
}

object CountedFactory {
  val made: AtomicInteger = new AtomicInteger
  @volatile var seen: Option[(String, ColumnFamilyOptions)] = None
}

class NullFactory extends PlainFactory {
  override def columnFamily(name: String, current: ColumnFamilyOptions): ColumnFamilyOptions = null
}

class ClosingFactory extends PlainFactory {
  override def db(current: DBOptions): DBOptions = {
    current.close()
    current
  }
}

class LosingFactory extends PlainFactory {
  override def columnFamily(name: String, current: ColumnFamilyOptions): ColumnFamilyOptions =
    current.setCompactionStyle(CompactionStyle.FIFO)
}

class PlainTableFactory extends PlainFactory {
  override def columnFamily(name: String, current: ColumnFamilyOptions): ColumnFamilyOptions =
    current.setTableFormatConfig(new PlainTableConfig)
}

class BadCloseFactory extends PlainFactory {
  override def close(): Unit = throw new IllegalStateException("cannot close")
}

class NoFactory

class ParameterFactory(val size: Int) extends PlainFactory

class FailingToBeMade extends PlainFactory {
  require(false, "not today")
}
