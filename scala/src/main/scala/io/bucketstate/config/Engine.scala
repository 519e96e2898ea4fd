package io.bucketstate.config

/** What holds the state while a query runs; `name` is the value of [[ConfigKey.Engine]]. */
sealed abstract class Engine(val name: String)

object Engine {

  /** Compact bytes in the JVM's heap. */
  case object Heap extends Engine("heap")

  /** A local RocksDB database for each store. */
  case object RocksDb extends Engine("rocksdb")

  val all: Seq[Engine] = Seq(Heap, RocksDb)
}
