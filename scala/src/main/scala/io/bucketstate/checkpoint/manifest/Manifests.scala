package io.bucketstate.checkpoint.manifest

import io.bucketstate.checkpoint.io.{Damage, FileStore, ManifestName}

/** Writes and reads the manifests of a store. Thread-safe. */
final class Manifests(folder: FileStore) {

  /** Publishes the manifest: one atomic write. Its runs must be there already. */
  def write(manifest: Manifest): Unit = {
    val bytes = ManifestFormat.encode(manifest)
    folder.write(manifest.file.name)(_.write(bytes))
  }

  /** Publishes one that is to be new: see `FileStore.writeNew`. */
  def writeNew(manifest: Manifest): Boolean = {
    val bytes = ManifestFormat.encode(manifest)
    folder.writeNew(manifest.file.name)(_.write(bytes))
  }

  /**
   * Throws `MissingException`, `CorruptException`, or `UnavailableException`.
   *
   * @param length in bytes, where it is known
   */
  def read(file: ManifestName, length: Option[Long] = None): Manifest = {
    val damage =
      new Damage(s"${folder.location}/${file.name}", s"manifest of version ${file.version}")
    val manifest = ManifestFormat.decode(folder.read(file.name, length), damage)
    if (manifest.file != file) {
      throw damage(
        s"expected the content of ${file.name}, found that of ${manifest.file.name}: the file was " +
          "renamed or copied"
      )
    }
    manifest
  }
}
