package io.bucketstate.checkpoint.io

import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, Path}
import org.apache.hadoop.security.UserGroupInformation

/**
 * The clients of object stores, which all stores of a process share for as long as it lives, as they do
 * Hadoop's own. Thread-safe.
 */
private[io] object ObjectClients {

  /** Whose client, with which settings. */
  private final case class Key(
      scheme: String,
      authority: String,
      user: UserGroupInformation,
      settings: java.util.Map[String, String]
  )

  private[this] val shared = new ConcurrentHashMap[Key, FileSystem]

  def of(folder: Path, conf: Configuration): FileSystem = {
    val uri = Option(folder.toUri)
      .filter(_.getScheme != null)
      .getOrElse(FileSystem.getDefaultUri(conf))
    if (!isS3A(FileSystem.getFileSystemClass(uri.getScheme, conf))) folder.getFileSystem(conf)
    else {
      val own = forStores(conf)
      val key = Key(
        uri.getScheme,
        uri.getAuthority,
        UserGroupInformation.getCurrentUser,
        own.getPropsWithPrefix("fs.s3a.")
      )
      shared.computeIfAbsent(key, _ => FileSystem.newInstance(uri, own))
    }
  }

  /** By its name: it is on no class path but that of whoever uses it. Others may have given it other schemes than `s3a:`. */
  private def isS3A(client: Class[_]): Boolean =
    Iterator.iterate[Class[_]](client)(_.getSuperclass).takeWhile(_ != null).exists {
      _.getName == "org.apache.hadoop.fs.s3a.S3AFileSystem"
    }

  /**
   * Files are read as they are at that moment: the stream that S3A has since Hadoop 3.5 keeps what it has
   * read of a name, and asks for its length even where that is known.
   */
  private def forStores(conf: Configuration): Configuration = {
    val own = new Configuration(conf)
    own.set("fs.s3a.input.stream.type", "classic")
    own.unset("fs.s3a.prefetch.enabled")
    own
  }
}
