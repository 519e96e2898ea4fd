package io.bucketstate.checkpoint

import io.bucketstate.error.InvalidException
import io.bucketstate.table.FamilySpec

/**
 * The column families the store has now, with their encodings: a file with other ones was written by
 * another query and cannot be read.
 */
final class KnownFamilies(val all: Seq[(FamilySpec, FamilyDescriptor)]) {

  /** @param file as users find it */
  def matching(file: String, stored: FamilyDescriptor): FamilySpec =
    all.find(_._2.id == stored.id) match {
      case Some((spec, `stored`)) => spec
      case found                  =>
        throw new InvalidException(
          s"$file holds the column family $stored, the query now expects " +
            found.fold("none of that number")(_._2.toString),
          "Restart with the query that wrote the checkpoint, or from a new checkpoint location."
        )
    }
}
