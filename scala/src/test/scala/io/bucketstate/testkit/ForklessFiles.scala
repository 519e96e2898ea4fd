package io.bucketstate.testkit

import java.net.URI
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermissions

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{
  ChecksumFs,
  DelegateToFileSystem,
  FileStatus,
  FsConstants,
  LocalFileSystem,
  Path,
  RawLocalFileSystem
}

/**
 * Hadoop's local file systems, which do in the JVM what Hadoop's own fork a process for when its native library is
 * missing: a `chmod` for each file and folder that is made, and two `readlink` for each rename. Spark makes its own
 * files of a checkpoint through them, and renames each.
 */
object ForklessFiles {

  /** For a session. Not cached, because Hadoop's cache gives out what was made first, whatever it was told since. */
  val settings: Seq[(String, String)] = Seq(
    "fs.file.impl" -> classOf[ForklessFileSystem].getName,
    "fs.file.impl.disable.cache" -> "true",
    "fs.AbstractFileSystem.file.impl" -> classOf[ForklessFs].getName
  ).map { case (key, value) => s"spark.hadoop.$key" -> value }
}

/** For who asks for a `FileSystem`. */
final class ForklessFileSystem extends LocalFileSystem(new ForklessRawFileSystem)

/** For who asks for a `FileContext`. */
final class ForklessFs(name: URI, conf: Configuration)
    extends ChecksumFs(new ForklessRawFs(name, conf))

private class ForklessRawFs(name: URI, conf: Configuration)
    extends DelegateToFileSystem(
      name,
      new ForklessRawFileSystem,
      conf,
      FsConstants.LOCAL_FS_URI.getScheme,
      false
    ) {
  override def getUriDefaultPort: Int = -1

  override def isValidName(name: String): Boolean = true
}

private class ForklessRawFileSystem extends RawLocalFileSystem {

  override def setPermission(path: Path, permission: FsPermission): Unit =
    // Java has no name for the tenth bit.
    if (permission.getStickyBit) super.setPermission(path, permission)
    else {
      val bits = PosixFilePermissions.fromString(permission.toString)
      Files.setPosixFilePermissions(pathToFile(path).toPath, bits)
      ()
    }

  override def getFileLinkStatus(path: Path): FileStatus =
    if (Files.isSymbolicLink(pathToFile(path).toPath)) super.getFileLinkStatus(path)
    else getFileStatus(path)
}
