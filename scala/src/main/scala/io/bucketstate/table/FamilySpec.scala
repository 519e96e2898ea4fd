package io.bucketstate.table

import io.bucketstate.bucket.BucketKey

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
 * @param ordered     whether keys must be found in byte order (prefix and range scans)
 * @param multiValued whether values can be appended to what a key has
 */
final case class FamilySpec(
    descriptor: FamilyDescriptor,
    bucketKey: BucketKey,
    ordered: Boolean,
    multiValued: Boolean = false
) {
  def id: Int = descriptor.id

  def name: String = descriptor.name
}
