package io.bucketstate.rocksdb

/**
 * Native options as texts, by RocksDB's names. Immutable.
 *
 * @param db     of a database
 * @param family of a column family, and of its tables: their names differ, so one map has both
 */
final case class OptionTexts(db: Map[String, String], family: Map[String, String]) {

  /** These, but for what the other says. */
  def ++(other: OptionTexts): OptionTexts = OptionTexts(db ++ other.db, family ++ other.family)

  /** Each alone. */
  def singles: Seq[OptionTexts] =
    db.toSeq.sorted.map(o => OptionTexts(Map(o), Map.empty)) ++
      family.toSeq.sorted.map(o => OptionTexts(Map.empty, Map(o)))
}
