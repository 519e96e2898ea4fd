package io.bucketstate.checkpoint.manifest

import java.util.concurrent.atomic.AtomicReference

import io.bucketstate.checkpoint.changelog.ChangelogReader
import io.bucketstate.checkpoint.io.{
  ChangelogName,
  CheckpointFiles,
  Damage,
  FileStore,
  ListedFile,
  ManifestName,
  VersionedFile
}
import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{ChangedSetting, CorruptException, InvalidException, MissingException}
import io.bucketstate.record.BucketAssigner

/**
 * Into how many buckets the keys of a store are divided: what its files say. A setting that is given must be the same, and
 * one that is not given counts for a store without files. Decided once, and then held against each file. Thread-safe.
 *
 * @param setting None if nobody has set it
 * @param default what it is in a store without files where nobody has
 * @param folder  the store's files, which are asked where nothing has been decided
 */
final class BucketCount(setting: Option[Int], default: Int, folder: FileStore) {
  private[this] val decided =
    new AtomicReference[BucketAssigner](setting.map(new BucketAssigner(_)).orNull)

  /**
   * Places keys. Lists the folder, once, where nobody has set the number and none of its files was read before: whoever
   * opens version 0 reads none, and there may be a version 1 that was not committed.
   */
  def assigner: BucketAssigner = assigner(folder.list())

  /**
   * A caller that lists the folder anyway hands over what it found, so that it is not listed twice.
   *
   * @param files of the folder, listed if that is needed
   */
  def assigner(files: => Seq[ListedFile]): BucketAssigner = {
    if (decided.get == null) look(files)
    decide(default)
  }

  /**
   * A file says so. Throws `InvalidException` if it is another number than the one that was decided, or another hash
   * function than this version knows.
   *
   * @param path the file as users find it
   */
  def require(path: String, numBuckets: Int, hashFunction: String): Unit = {
    if (hashFunction != BucketAssigner.HashName) throw otherHash(path, hashFunction)
    if (numBuckets < 1 || numBuckets > ConfigKey.MostBuckets) throw noNumber(path, numBuckets)
    val current = decide(numBuckets).numBuckets
    if (numBuckets != current) throw otherNumber(path, numBuckets, current)
  }

  /** Asks the newest file that can be read, for whoever opens none of the versions that there are. Lists the folder. */
  def look(): Unit = look(folder.list())

  private def look(files: Seq[ListedFile]): Unit = {
    val newestFirst = files.iterator
      .map(file => CheckpointFiles.parse(file.name))
      .collect { case Some(file: VersionedFile) => file }
      .toSeq
      .sortBy(-_.version)
    newestFirst.iterator.map(said).find(_.isDefined).flatten.foreach {
      case (file, numBuckets, hashFunction) =>
        require(s"${folder.location}/${file.name}", numBuckets, hashFunction)
    }
  }

  private def said(file: VersionedFile): Option[(VersionedFile, Int, String)] =
    try
      file match {
        case ChangelogName(attempt) =>
          val header = ChangelogReader.readHeader(folder, attempt)
          Some((file, header.numBuckets, header.hashFunction))
        case name: ManifestName =>
          val manifest = new Manifests(folder).read(name)
          Some((file, manifest.numBuckets, manifest.hashFunction))
      }
    catch {
      case e: CorruptException if !e.isNewer => None
      case _: MissingException               => None
    }

  private def decide(numBuckets: Int): BucketAssigner = {
    if (decided.get == null) decided.compareAndSet(null, new BucketAssigner(numBuckets))
    decided.get
  }

  private def otherNumber(path: String, stored: Int, current: Int) = new InvalidException(
    s"$path was written with ${ConfigKey.NumBuckets.key}=$stored, it is now $current",
    s"The number of buckets is fixed for the life of a checkpoint: set it back to $stored, or remove the setting. " +
      "To have another number, `bucketstate move rewrite CHECKPOINT NEW --buckets N` makes a new checkpoint with the " +
      "same state.",
    changed = Some(ChangedSetting(ConfigKey.NumBuckets.key, stored.toString, current.toString))
  )

  private def otherHash(path: String, hashFunction: String) = new InvalidException(
    s"$path was written with the hash function '$hashFunction', this version knows " +
      s"'${BucketAssigner.HashName}'",
    "It was written by a newer bucketstate: upgrade, or start from a new checkpoint location."
  )

  private def noNumber(path: String, numBuckets: Int) = new CorruptException(
    path,
    s"expected 1 to ${ConfigKey.MostBuckets} buckets, found $numBuckets",
    Damage.Remedy
  )
}

object BucketCount {

  /** A number that nothing can change. */
  def of(assigner: BucketAssigner, folder: FileStore): BucketCount =
    new BucketCount(Some(assigner.numBuckets), assigner.numBuckets, folder)
}
