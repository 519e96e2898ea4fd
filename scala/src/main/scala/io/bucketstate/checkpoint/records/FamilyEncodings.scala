package io.bucketstate.checkpoint.records

import io.bucketstate.error.InvalidException
import io.bucketstate.record.{BucketKey, Expiry, FamilyDescriptor, FamilySpec, Scans}

/**
 * The names of encodings as files hold them, and what they mean for where a family's keys lie: so that a
 * file can be read before the query has said what it keeps in a family.
 */
object FamilyEncodings {

  /** Keys or single values. */
  val CompactRow = "compact-row/1"

  /** Values that are lists. */
  val CompactRows = "compact-rows/1"

  /** Single values behind the id of the schema that they were written with. */
  val EvolvingRow = "evolving-row/1"

  /** Values that are lists of such. */
  val EvolvingRows = "evolving-rows/1"

  /** Values with the time that they age from, or without; see [[io.bucketstate.record.TimedValue]]. */
  val TimedRow = "timed-row/1"

  val TimestampPrefix = "spark-timestamp-prefix"
  val TimestampPostfix = "spark-timestamp-postfix"

  private val Prefix = "spark-prefix-scan/"
  private val Range = "spark-range-scan/"

  /** Keys of which so many first columns can be scanned by. */
  def prefixScan(columns: Int): String = Prefix + columns

  /** Keys in the order of these columns. */
  def rangeScan(columns: Seq[Int]): String = columns.mkString(Range, ",", "")

  /** The family with times in its values, if these are single; else as it is. */
  def timed(descriptor: FamilyDescriptor): FamilyDescriptor =
    if (descriptor.valueEncoding == CompactRow) descriptor.copy(valueEncoding = TimedRow)
    else descriptor

  /** The family without times in its values. */
  def untimed(descriptor: FamilyDescriptor): FamilyDescriptor =
    if (descriptor.valueEncoding == TimedRow) descriptor.copy(valueEncoding = CompactRow)
    else descriptor

  /** Whether the family's values have times. */
  def isTimed(descriptor: FamilyDescriptor): Boolean = descriptor.valueEncoding == TimedRow

  /** @param file where it was found, as users know it */
  def specOf(file: String, descriptor: FamilyDescriptor): FamilySpec = {
    val multiValued = descriptor.valueEncoding match {
      case CompactRow | TimedRow | EvolvingRow => false
      case CompactRows | EvolvingRows          => true
      case other => throw unknown(file, descriptor, s"values encoded as '$other'")
    }
    val (bucketKey, scans) = descriptor.keyEncoding match {
      case CompactRow                    => (BucketKey.Whole, Scans.Nothing)
      case key if key.startsWith(Prefix) => (BucketKey.LengthPrefixed, Scans.Prefixes)
      case key if key.startsWith(Range)  => (BucketKey.Whole, Scans.Ranges)
      case TimestampPrefix               => (BucketKey.Whole, Scans.Ranges)
      case TimestampPostfix              => (BucketKey.BeforeTimestamp, Scans.Ranges)
      case other => throw unknown(file, descriptor, s"keys encoded as '$other'")
    }
    val hasTimes = isTimed(descriptor)
    if (hasTimes && scans != Scans.Nothing) {
      throw unknown(file, descriptor, s"times and keys encoded as '${descriptor.keyEncoding}'")
    }
    FamilySpec(descriptor, bucketKey, scans, multiValued, Option.when(hasTimes)(Expiry.None))
  }

  private def unknown(file: String, descriptor: FamilyDescriptor, what: String) =
    new InvalidException(
      s"$file holds the column family '${descriptor.name}' with $what, which this version does not know",
      "It was written by a newer bucketstate: upgrade on the driver and all executors."
    )
}
