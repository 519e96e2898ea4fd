package io.bucketstate.checkpoint.recovery

import scala.collection.immutable.SortedMap
import scala.collection.mutable

import io.bucketstate.checkpoint.changelog.ChangelogFamily
import io.bucketstate.record.{TimeBuckets, TimedValue}
import io.bucketstate.table.StateTable

/**
 * Counts the keys of families by time bucket where the files cannot be right about them: without checkpoint ids another
 * attempt may have replaced a version after the next one counted on it, and by processing time its records have
 * other times. Where keys are to expire from now on, those that nobody has counted have to be.
 */
private[recovery] object Recount {

  /**
   * The families with what they really hold. Reads all of those that are counted.
   *
   * @param said  what the newest file says of them
   * @param wrong those of them to be counted
   * @param table of that version, which takes no count for wrong
   */
  def of(
      said: Seq[ChangelogFamily],
      wrong: Seq[ChangelogFamily],
      table: StateTable
  ): Seq[ChangelogFamily] =
    said.map { family =>
      if (!wrong.contains(family)) family
      else {
        val times = family.times.getOrElse(TimeBuckets.ofUntimed(0L))
        val counted = timesIn(table, family.descriptor.id, times)
        family.copy(keyCount = Some(counted.keyCount), times = family.times.map(_ => counted))
      }
    }

  private def timesIn(table: StateTable, family: Int, times: TimeBuckets): TimeBuckets = {
    val keys = mutable.Map.empty[Long, Long]
    table.families
      .find(_.spec.id == family)
      .foreach(_.records(table.newest).foreach { record =>
        keys.updateWith(TimedValue.startOf(record))(n => Some(n.getOrElse(0L) + 1))
        ()
      })
    times.copy(
      untimedKeys = keys.remove(TimedValue.Untimed).getOrElse(0L),
      keys = keys.to(SortedMap)
    )
  }
}
