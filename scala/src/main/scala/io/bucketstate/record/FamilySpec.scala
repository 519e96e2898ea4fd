package io.bucketstate.record

/**
 * A column family as the files describe it.
 *
 * @param id            its number, 0 for `default`; no other family of the store ever gets it
 * @param keyEncoding   names how key bytes are made of a row, such as `compact-row/1`
 * @param valueEncoding the same of value bytes
 * @param isInternal    whether an operator keeps it for itself: its keys are not counted as the state's
 */
final case class FamilyDescriptor(
    id: Int,
    name: String,
    keyEncoding: String,
    valueEncoding: String,
    isInternal: Boolean = false
)

/**
 * A column family as the table needs to know it.
 *
 * @param descriptor  the table looks at number and name only, and keeps the rest for the files
 * @param bucketKey   which part of a key decides its bucket
 * @param scans       how keys must be found that are not known whole
 * @param multiValued whether values can be appended to what a key has
 * @param expiry      how records age, where values have times (see [[TimedValue]]); not with scans or several values
 */
final case class FamilySpec(
    descriptor: FamilyDescriptor,
    bucketKey: BucketKey,
    scans: Scans,
    multiValued: Boolean = false,
    expiry: Option[Expiry] = None
) {
  require(expiry.isEmpty || (scans == Scans.Nothing && !multiValued))

  def id: Int = descriptor.id

  def name: String = descriptor.name

  /**
   * Where what Spark gave begins in a record of the family that is no removal: behind its time, if it has one.
   *
   * @param from where the value begins
   */
  def rowAt(record: Array[Byte], from: Int): Int =
    if (expiry.isDefined) TimedValue.rowAt(record, from) else from
}

/** Which scans a column family serves besides that of everything. */
sealed trait Scans

object Scans {

  /** None. */
  case object Nothing extends Scans

  /** Scans of the keys whose first part, the one that decides their bucket, is given; in no order. */
  case object Prefixes extends Scans

  /** In the byte order of the keys, by any prefix and between any two. */
  case object Ranges extends Scans
}
