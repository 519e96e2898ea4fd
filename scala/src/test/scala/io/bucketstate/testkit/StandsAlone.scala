package io.bucketstate.testkit

import java.nio.file.Path

import scala.util.Using

import io.bucketstate.checkpoint.io.{
  Attempt,
  ChangelogName,
  CheckpointFiles,
  FileStore,
  ManifestName,
  NioFileStore
}

/** Makes a version that has a manifest one that is a manifest alone, as tools leave it that move state. */
object StandsAlone {

  /** @param withOlder whether the files of the versions before are left, which lead to nothing behind it any more */
  def leave(folder: Path, version: Attempt, withOlder: Boolean): Unit =
    Using.resource(new NioFileStore(folder))(leave(_, version, withOlder))

  def leave(files: FileStore, version: Attempt, withOlder: Boolean): Unit = {
    require(files.exists(ManifestName(version).name), s"there is no manifest of $version")
    files.list().map(_.name).foreach { name =>
      val goes = CheckpointFiles.parse(name).exists {
        case changelog: ChangelogName =>
          changelog.attempt == version || (!withOlder && changelog.version <= version.version)
        case manifest: ManifestName => !withOlder && manifest.version < version.version
        case _                      => false
      }
      if (goes) files.delete(name)
    }
  }
}
