package io.bucketstate.rocksdb

import org.rocksdb.RocksDBException

import io.bucketstate.config.{ConfigKey, NativeKey}
import io.bucketstate.error.InvalidException

/** What RocksDB's refusal of some options comes to for those who gave them. */
object OptionRefusal {

  /** The one of the given options that RocksDB refuses alone, with its words and the nearest name. */
  def explain(wanted: OptionTexts, error: RocksDBException): InvalidException =
    wanted.singles.iterator
      .flatMap(one => refusal(one).map(of(one, _)))
      .nextOption()
      .getOrElse(
        new InvalidException(
          s"RocksDB refuses the options below ${ConfigKey.RocksDbOptions.key} together: ${words(error)}",
          "Each of them alone is allowed: remove one after the other to find what does not go together.",
          error
        )
      )

  private def refusal(one: OptionTexts): Option[RocksDBException] =
    try {
      val (db, family) = OptionFile.parse(one)
      db.close()
      family.close()
      None
    } catch { case error: RocksDBException => Some(error) }

  private def of(one: OptionTexts, error: RocksDBException): InvalidException = {
    val isDb = one.db.nonEmpty
    val (name, value) = (one.db ++ one.family).head
    val key = if (isDb) NativeKey.db(name) else NativeKey.cf(name)
    val remedy =
      if (words(error).startsWith("Could not find option"))
        s"Did you mean ${KnownOptions.read().nearest(isDb, name)}?"
      else "Set it to a value as RocksDB writes it, or remove it to use the preset's."
    new InvalidException(s"$key is '$value', which RocksDB refuses: ${words(error)}", remedy, error)
  }

  private def words(error: RocksDBException): String =
    error.getMessage.trim.stripSuffix(":").replace(": :", ":").replace("::", ":")
}
