package io.bucketstate.checkpoint.records

import io.bucketstate.error.InvalidException
import io.bucketstate.table.{FamilyDescriptor, FamilySpec}

/**
 * The column families that a store's files may hold.
 *
 * @param default of the empty store
 * @param others  whether the query makes families of its own. If not, there is the default one alone,
 *                and a file in which it is encoded otherwise was written by another query. If so, a
 *                family is held against the query's when that asks for it.
 */
final class KnownFamilies(default: FamilyDescriptor, others: Boolean) {

  /** Those of the empty store. */
  def initial: Seq[FamilySpec] = Seq(FamilyEncodings.specOf("The query", default))

  /** @param file as users find it */
  def matching(file: String, stored: FamilyDescriptor): FamilySpec = {
    if (!others && stored != default) {
      throw new InvalidException(
        s"$file holds the column family $stored, the query now expects $default alone",
        "Restart with the query that wrote the checkpoint, or from a new checkpoint location."
      )
    }
    FamilyEncodings.specOf(file, stored)
  }
}
