package io.bucketstate.table

import io.bucketstate.record.{BucketAssigner, FamilySpec}
import io.bucketstate.table.cold.BucketLoader

/** Makes state tables. */
object StateTables {

  /**
   * A table that keeps the state on the heap.
   *
   * @param base       version it begins with
   * @param families   of that version, in ascending order of their numbers
   * @param nextFamily numbers below this one belonged to families that are gone
   * @param loader     hands out the state at that version
   * @param countsExactly whether keys are looked up for their exact number
   */
  def heap(
      assigner: BucketAssigner,
      base: Long,
      families: Seq[FamilySpec],
      nextFamily: Int = 0,
      loader: BucketLoader = BucketLoader.Empty,
      host: TableHost = TableHost.Plain,
      countsExactly: Boolean = true
  ): StateTable = {
    val table = new VersionedTable(assigner, base, loader, host, countsExactly)
    families.foreach(table.family)
    table.reserveFamilies(nextFamily)
    table
  }
}
