package io.bucketstate.config

/** The full keys of single options below [[ConfigKey.RocksDbOptions]], for messages. Pure. */
object NativeKey {

  /** The key of an option of a database. */
  def db(name: String): String = s"${ConfigKey.RocksDbOptions.key}.${RocksDbConfig.Db}.$name"

  /** The key of an option of a column family or its tables. */
  def cf(name: String): String = s"${ConfigKey.RocksDbOptions.key}.${RocksDbConfig.Cf}.$name"
}
