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

  def of(folder: Path, conf: Configuration): FileSystem =
    if (folder.toUri.getScheme != S3A) folder.getFileSystem(conf)
    else {
      val own = forStores(conf)
      val key = Key(
        S3A,
        folder.toUri.getAuthority,
        UserGroupInformation.getCurrentUser,
        own.getPropsWithPrefix("fs.s3a.")
      )
      shared.computeIfAbsent(key, _ => FileSystem.newInstance(folder.toUri, own))
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

  private final val S3A = "s3a"
}
