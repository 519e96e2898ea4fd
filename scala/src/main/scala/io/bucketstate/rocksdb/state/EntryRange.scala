package io.bucketstate.rocksdb.state

import org.rocksdb.{ColumnFamilyHandle, ReadOptions, RocksDB, RocksIterator, Slice}

private[rocksdb] object EntryRange {

  /** Reads the entries from a key on and before another one. Closes `at`. */
  def read(
      db: RocksDB,
      handle: ColumnFamilyHandle,
      at: ReadOptions,
      from: Array[Byte],
      until: Array[Byte]
  )(use: RocksIterator => Unit): Unit = {
    val bound = new Slice(until)
    val iterator = db.newIterator(handle, at.setIterateUpperBound(bound))
    try {
      iterator.seek(from)
      use(iterator)
      iterator.status()
    } finally {
      iterator.close()
      at.close()
      bound.close()
    }
  }
}
