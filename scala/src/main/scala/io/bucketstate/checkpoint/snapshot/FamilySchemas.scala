package io.bucketstate.checkpoint.snapshot

/** Spark's JSON of a family's schemas, for whoever reads the checkpoint without the query. */
final case class FamilySchemas(key: String, value: String)
