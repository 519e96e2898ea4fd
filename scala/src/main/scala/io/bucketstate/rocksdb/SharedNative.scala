package io.bucketstate.rocksdb

import org.rocksdb.{Cache, RateLimiter, WriteBufferManager}

/**
 * What the databases of all stores of an executor share. It belongs to whoever made it, and has to stay open for as long
 * as options or databases are that use it.
 */
trait SharedNative {

  /** Holds blocks, indexes and filters of all databases. */
  def cache: Cache

  /** Holds records of all databases. */
  def records: RecordCache

  /** Limits the write buffers of all databases together. */
  def writeBuffers: WriteBufferManager

  /** Limits what flushes and compactions of all databases write. */
  def rateLimiter: RateLimiter
}
