package io.bucketstate.move.job

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.expressions.UnsafeRow

import io.bucketstate.error.InvalidException
import io.bucketstate.move.place.{Deciding, Placer}
import io.bucketstate.move.read.SourceFamily

/**
 * Finds out by which of its columns an operator lies. Before version 3.3 Spark was content with keys that lay by some of their
 * grouping columns, as an operator before had left them. All keys are tried, so that what fits is no chance of a few.
 */
private[move] object ColumnSearch {

  /** Sets of columns are numbered by their bits. More columns than these are not tried in all ways. */
  final val MostColumns = 8

  /** The sets of some columns that every key of a partition lies by; as bits of the numbers of sets. */
  def fitting(work: StoreWork, partition: Int, hadoop: Configuration): Set[Int] = {
    val rows = work.rows(partition, hadoop)
    try {
      val byFamily = scala.collection.mutable.Map.empty[String, Tried]
      rows.foreach { row =>
        val tried =
          byFamily.getOrElseUpdate(row.family.name, new Tried(work, row.family, partition))
        tried.look(row.key)
      }
      byFamily.values.map(_.left).reduceOption(_ & _).getOrElse(all(columnsOf(work)))
    } finally rows.close()
  }

  def columnsOf(work: StoreWork): Int =
    work.store.families.map(f => f.deciding.fields(f.keySchema).size).min

  def all(columns: Int): Set[Int] = (1 until (1 << columns)).toSet

  /** The only set that fits, as what decides; the whole key, if that does. Throws `InvalidException` where it is not clear. */
  def chosen(work: StoreWork, fits: Set[Int]): Deciding => Deciding = {
    val columns = columnsOf(work)
    val whole = (1 << columns) - 1
    if (fits(whole)) identity
    else if (fits.size == 1) {
      val numbers = (0 until columns).filter(i => (fits.head & (1 << i)) != 0)
      Deciding.Columns(_, numbers)
    } else
      throw new InvalidException(
        s"The keys of ${work.name} do not lie by all of their $columns columns, and " +
          (if (fits.isEmpty) "by no others, either"
           else
             s"there are too few of them to tell by which of ${fits.size} sets of columns they do"),
        "Move it without another number of partitions, so that each key stays where it is."
      )
  }

  private final class Tried(work: StoreWork, family: SourceFamily, partition: Int) {
    private[this] val columns = columnsOf(work)
    private[this] var placers = all(columns).toSeq.map { set =>
      val numbers = (0 until columns).filter(i => (set & (1 << i)) != 0)
      set -> new Placer(Deciding.Columns(family.deciding, numbers), family.keySchema, work.had)
    }

    def left: Set[Int] = placers.map(_._1).toSet

    def look(key: UnsafeRow): Unit = {
      val fit = placers.filter(_._2(key) == partition)
      if (fit.size < placers.size) placers = fit
    }
  }
}
