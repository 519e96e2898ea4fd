package io.bucketstate.checkpoint

/**
 * A column family at a manifest's version.
 *
 * @param keyCount    keys it holds, counted exactly
 * @param keySchema   Spark's JSON of the key's schema, for who reads the checkpoint without the query
 * @param valueSchema the same of the value's
 */
final case class ManifestFamily(
    descriptor: FamilyDescriptor,
    keyCount: Long,
    keySchema: Option[String] = None,
    valueSchema: Option[String] = None
)

/**
 * "The state at `version` is these runs": what makes a version loadable without the changelogs up to
 * it. [[ManifestInvariants]] says what must be true of one.
 *
 * @param storeId          which store this is, as users know it
 * @param runs             newest first
 * @param checkpointId     of this version, with checkpoint format 2
 * @param baseCheckpointId of the version before it, with checkpoint format 2
 */
final case class Manifest(
    storeId: String,
    version: Long,
    numBuckets: Int,
    hashFunction: String,
    families: Seq[ManifestFamily],
    runs: Seq[Run],
    checkpointId: Option[String] = None,
    baseCheckpointId: Option[String] = None
) {
  def file: CheckpointFiles.Manifest = CheckpointFiles.Manifest(version, checkpointId)

  /** The names of all files that it needs. */
  def fileNames: Set[String] = runs.iterator.flatMap(_.files).map(_.name).toSet

  def bytes: Long = runs.iterator.map(_.bytes).sum

  def keys: Long = families.iterator.map(_.keyCount).sum
}
