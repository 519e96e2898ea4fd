package io.bucketstate.rocksdb

import org.rocksdb.{ColumnFamilyOptions, DBOptions}

/**
 * Changes native options in code: for what has no text, or is to depend on the machine. Named by
 * `rocksdb.optionsFactory`, with a public constructor without parameters; can be written in Java.
 *
 *  1. It gets the options last, after preset and settings. Each database has a factory of its own; one more is made
 *     in each process before the first batch, to see whether it works.
 *  1. It may change what it gets and return it, or return another object; either is closed with the store.
 *  1. What it makes beside them, such as filters, has to live until [[close]], and is closed there by the factory.
 *  1. What the engine stands on (comparator, merge operator, atomic flushes, shared cache, write buffers and rate limiter,
 *     making of databases) is set again afterwards.
 *  1. It is called by one thread at a time, but not always by the same.
 */
trait RocksDbOptionsFactory extends AutoCloseable {

  /** The options of a store's database; called once. */
  def db(current: DBOptions): DBOptions

  /** The options of the column family of that name; called once for each name. */
  def columnFamily(name: String, current: ColumnFamilyOptions): ColumnFamilyOptions

  /** Called once, when database and options are closed. */
  override def close(): Unit = ()
}
