package io.bucketstate.checkpoint.records

import io.bucketstate.error.InvalidException
import io.bucketstate.record.{Expiry, FamilyDescriptor, FamilySpec}

/**
 * The column families that a store's files may hold.
 *
 * @param default of the empty store, its values without times
 * @param others  whether the query makes families of its own. If not, there is the default one alone,
 *                and a file in which it is encoded otherwise was written by another query. If so, a
 *                family is held against the query's when that asks for it.
 * @param expiry  how records of the default family age, where the query wants that
 * @param countsExactly whether the query wants keys looked up for their exact number
 */
final class KnownFamilies(
    default: FamilyDescriptor,
    others: Boolean,
    expiry: Option[Expiry] = None,
    val countsExactly: Boolean = true
) {
  private[this] val isTimed = expiry.isDefined

  /** Those of the empty store. */
  def initial: Seq[FamilySpec] = Seq(specOf("The query", default))

  /** @param file as users find it */
  def matching(file: String, stored: FamilyDescriptor): FamilySpec = {
    if (!others && FamilyEncodings.untimed(stored) != default) {
      throw new InvalidException(
        s"$file holds the column family $stored, the query now expects $default alone",
        "Restart with the query that wrote the checkpoint, or from a new checkpoint location."
      )
    }
    specOf(file, stored)
  }

  /** What has times keeps them, also for a query that lets nothing expire. */
  private def specOf(file: String, stored: FamilyDescriptor): FamilySpec = {
    val isDefault = stored.id == default.id && !others
    val descriptor = if (isTimed && isDefault) FamilyEncodings.timed(stored) else stored
    val spec = FamilyEncodings.specOf(file, descriptor)
    if (isDefault && spec.expiry.isDefined) spec.copy(expiry = expiry.orElse(spec.expiry)) else spec
  }
}
