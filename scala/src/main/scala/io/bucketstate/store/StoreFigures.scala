package io.bucketstate.store

import io.bucketstate.config.MetricKey
import io.bucketstate.table.{FamilyState, StateTable}

/**
 * The figures of one store. Immutable.
 *
 * @param keys        at the newest version, or at the open one, and of a family whose keys nobody has counted there, when
 *                    they were counted last; those of internal families left out
 * @param memoryBytes what the state takes and what is kept to read its files, native memory of a database included, estimated
 * @param values      the project's own metrics; one that is not given is 0
 * @param snapshot    version of the newest snapshot that was made, -1 if there was none
 */
private[bucketstate] final case class StoreFigures(
    keys: Long,
    memoryBytes: Long,
    values: Map[MetricKey, Long],
    snapshot: Long
)

private[bucketstate] object StoreFigures {

  /**
   * The figures of a table as it is now.
   *
   * @param lastCount of a family's keys
   * @param besides   memory that is held for the store outside the table
   */
  def of(
      table: StateTable,
      lastCount: Int => Option[Long],
      besides: Long,
      values: Map[MetricKey, Long] = Map.empty,
      snapshot: Long = -1L
  ): StoreFigures =
    StoreFigures(
      keyCount(table, lastCount, areInternal = false),
      table.memoryBytes + besides,
      values,
      snapshot
    )

  /** Those that `keys` leaves out. */
  def internalKeys(table: StateTable, lastCount: Int => Option[Long]): Long =
    keyCount(table, lastCount, areInternal = true)

  def families(table: StateTable, areInternal: Boolean): Long =
    familiesOf(table, areInternal).size.toLong

  private def keyCount(
      table: StateTable,
      lastCount: Int => Option[Long],
      areInternal: Boolean
  ): Long =
    familiesOf(table, areInternal).flatMap(f => f.keyCount.orElse(lastCount(f.spec.id))).sum

  private def familiesOf(table: StateTable, areInternal: Boolean): Iterator[FamilyState] =
    table.families.iterator.filter(_.spec.descriptor.isInternal == areInternal)
}
