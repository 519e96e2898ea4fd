package io.bucketstate.move.job

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import io.bucketstate.error.InvalidException
import io.bucketstate.move.place.{Deciding, Placer}
import io.bucketstate.move.read.SourceFamily

/**
 * Sets of some columns of a key, numbered by their bits.
 *
 * @param fits  those that all keys lie by
 * @param alike those by which all keys come to lie where they do by all columns: which one it is makes no difference
 */
private[move] final case class Fitting(fits: Set[Int], alike: Set[Int]) {
  def &(other: Fitting): Fitting = Fitting(fits & other.fits, alike & other.alike)
}

/**
 * Finds out by which of its columns an operator lies. Before version 3.3 Spark was content with keys that lay by some of their
 * grouping columns, as an operator before had left them. All keys are tried, so that what fits is no chance of a few.
 */
private[move] object ColumnSearch {

  /** More columns than these are not tried in all ways. */
  final val MostColumns = 8

  /** What fits every key of a partition. */
  def fitting(work: StoreWork, partition: Int, hadoop: Configuration): Fitting = {
    val rows = work.rows(partition, hadoop)
    try {
      val byFamily = scala.collection.mutable.Map.empty[String, Tried]
      rows.foreach { row =>
        val tried =
          byFamily.getOrElseUpdate(row.family.name, new Tried(work, row.family, partition))
        tried.look(row.key)
      }
      byFamily.values.map(_.left).reduceOption(_ & _).getOrElse(any(columnsOf(work)))
    } finally rows.close()
  }

  def columnsOf(work: StoreWork): Int =
    work.store.families.map(f => f.deciding.fields(f.keySchema).size).min

  /** What nothing is tried of: the whole key. */
  def untried(columns: Int): Fitting = Fitting(Set(whole(columns)), Set(whole(columns)))

  private def any(columns: Int): Fitting = Fitting(all(columns), all(columns))

  private def all(columns: Int): Set[Int] = (1 to whole(columns)).toSet

  private def whole(columns: Int): Int = (1 << columns) - 1

  /**
   * The only set that fits, as what decides; the whole key, if that does and no other one would lead elsewhere. Throws
   * `InvalidException` where it is not clear.
   */
  def chosen(work: StoreWork, found: Fitting): Deciding => Deciding = {
    val columns = columnsOf(work)
    val fits = found.fits
    val others = fits - whole(columns)
    // Of keys that come with rows nothing is known.
    val elsewhere = if (work.upsert.isDefined) others else others -- found.alike
    if (fits(whole(columns)) && elsewhere.isEmpty) identity
    else if (fits.size == 1) {
      val numbers = (0 until columns).filter(i => (fits.head & (1 << i)) != 0)
      Deciding.Columns(_, numbers)
    } else throw unclear(work, columns, fits)
  }

  private def unclear(work: StoreWork, columns: Int, fits: Set[Int]): InvalidException = {
    val tells =
      if (work.had == 1) "one partition does not tell by which of"
      else "there are too few of them to tell by which of"
    val doubt = s"$tells ${fits.size} sets of columns they do"
    val problem =
      if (fits.isEmpty) s"do not lie by all of their $columns columns, and by no others, either"
      else if (!fits(whole(columns))) s"do not lie by all of their $columns columns, and $doubt"
      else s"lie by all of their $columns columns, and by some of these alone, too: $doubt"
    val more = "Let the query run until it has more keys, and begin again."
    val stay =
      "Without another number of partitions it can be moved: each key stays where it is then."
    val remedy =
      if (work.upsert.isDefined) more
      else if (fits.isEmpty || work.had == 1) stay
      else s"$more $stay"
    new InvalidException(s"The keys of ${work.name} $problem", remedy)
  }

  private final class Tried(work: StoreWork, family: SourceFamily, partition: Int) {
    private[this] val columns = columnsOf(work)
    private[this] val goes = placer(whole(columns), work.targets)
    private[this] var fits = placers(work.had)
    private[this] var alike = placers(work.targets)

    def left: Fitting = Fitting(fits.map(_._1).toSet, alike.map(_._1).toSet)

    def look(key: UnsafeRow): Unit = {
      fits = placing(fits, key, partition)
      alike = placing(alike, key, goes(key))
    }

    private def placing(
        tried: Seq[(Int, Placer)],
        key: UnsafeRow,
        where: Int
    ): Seq[(Int, Placer)] = {
      val fit = tried.filter(_._2(key) == where)
      if (fit.size < tried.size) fit else tried
    }

    private def placers(partitions: Int): Seq[(Int, Placer)] =
      all(columns).toSeq.map(set => set -> placer(set, partitions))

    private def placer(set: Int, partitions: Int): Placer = {
      val numbers = (0 until columns).filter(i => (set & (1 << i)) != 0)
      new Placer(Deciding.Columns(family.deciding, numbers), family.keySchema, partitions)
    }
  }
}
