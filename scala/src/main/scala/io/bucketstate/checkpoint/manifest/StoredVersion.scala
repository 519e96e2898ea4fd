package io.bucketstate.checkpoint.manifest

import java.util.UUID

import io.bucketstate.checkpoint.changelog.ChangelogReader
import io.bucketstate.checkpoint.io.{Attempt, ChangelogName, FileStore, ManifestName, VersionedFile}
import io.bucketstate.error.MissingException

/**
 * What the files say a version is. It is there when its changelog is, or its manifest: a manifest without a changelog is
 * a state by itself. Where there are both, the changelog counts, because a manifest may be of an attempt that was replaced.
 *
 * @param file     that says so
 * @param commitId of the version; None if the manifest names none
 */
final case class StoredVersion(file: VersionedFile, commitId: Option[UUID])

object StoredVersion {

  /**
   * One small read, and another where there is no changelog. Throws `MissingException` if the version has neither file,
   * `CorruptException` and `UnavailableException`.
   */
  def of(folder: FileStore, attempt: Attempt): StoredVersion =
    try {
      val header = ChangelogReader.readHeader(folder, attempt)
      StoredVersion(ChangelogName(attempt), Some(header.commitId))
    } catch {
      case gone: MissingException =>
        val file = ManifestName(attempt)
        try StoredVersion(file, new Manifests(folder).read(file).commitId)
        catch { case _: MissingException => throw gone }
    }
}
