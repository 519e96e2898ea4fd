package io.bucketstate.table

import scala.collection.immutable.TreeMap

/**
 * The families of a version.
 *
 * @param tables     in ascending order of their numbers
 * @param nextNumber of the next new family: higher than any there ever was
 */
private[table] final case class FamilyList(tables: Vector[FamilyTable], nextNumber: Int) {

  def +(table: FamilyTable): FamilyList = {
    if (table.spec.id < nextNumber) {
      throw new IllegalArgumentException(
        s"the number ${table.spec.id} of column family '${table.spec.name}' was used before"
      )
    }
    FamilyList(tables :+ table, table.spec.id + 1)
  }

  def -(id: Int): FamilyList = copy(tables = tables.filter(_.spec.id != id))
}

/**
 * The families of all versions of a table, from the oldest to the open one: each list with the version
 * it starts at. Immutable, so readers may look while the writer makes another one.
 */
private[table] final class FamilyHistory private (lists: TreeMap[Long, FamilyList]) {

  def newest: FamilyList = lists.last._2

  def at(version: Long): FamilyList =
    lists.rangeTo(version).lastOption.getOrElse(lists.head)._2

  def changed(version: Long, list: FamilyList): FamilyHistory =
    new FamilyHistory(lists.updated(version, list))

  /** Without what versions above this one changed. */
  def upTo(version: Long): FamilyHistory =
    if (lists.lastKey <= version) this else new FamilyHistory(lists.rangeTo(version))

  /** Without what only versions below this one have. */
  def from(version: Long): FamilyHistory =
    if (lists.size == 1) this
    else new FamilyHistory(lists.rangeFrom(lists.rangeTo(version).lastKey))

  /** Whether some version has it. */
  def holds(family: FamilySettling): Boolean =
    lists.valuesIterator.exists(_.tables.exists(_.settling eq family))

  def all: Iterator[FamilyTable] = lists.valuesIterator.flatMap(_.tables)
}

private[table] object FamilyHistory {
  def apply(base: Long): FamilyHistory =
    new FamilyHistory(TreeMap(base -> FamilyList(Vector.empty, 0)))
}
