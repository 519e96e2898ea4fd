package io.bucketstate.checkpoint.io

import java.nio.file.{InvalidPathException, Paths}
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{CommonPathCapabilities, FileSystem, Path}
import org.slf4j.LoggerFactory

/** Chooses how a checkpoint folder is reached. */
object FileStores {

  private[this] val log = LoggerFactory.getLogger(getClass)
  private[this] val reported = ConcurrentHashMap.newKeySet[(String, Boolean)]()

  /** Spark's setting of the checkpoint's format, by which each attempt at a version has a name of its own, or not. */
  val FormatSetting: String = "spark.sql.streaming.stateStore.checkpointFormatVersion"

  /**
   * @param objectStores schemes of stores where a file appears whole when it is closed. It is used as one
   *                     if its client can also give a write up: without that, a write that fails half-way
   *                     could only be ended by publishing half a file, and Spark's file manager, which
   *                     renames, is the right way.
   */
  def forFolder(
      folder: Path,
      hadoopConf: Configuration,
      objectStores: Set[String] = Set.empty
  ): FileStore =
    if (hadoopConf.get(FileManagers.Setting) != null) new HadoopFileStore(folder, hadoopConf)
    else {
      val scheme =
        Option(folder.toUri.getScheme).getOrElse(FileSystem.getDefaultUri(hadoopConf).getScheme)
      if (scheme == "file") local(folder).getOrElse(new HadoopFileStore(folder, hadoopConf))
      else if (objectStores(scheme)) inObjectStore(scheme, folder, hadoopConf)
      else new HadoopFileStore(folder, hadoopConf)
    }

  private def inObjectStore(scheme: String, folder: Path, conf: Configuration): FileStore =
    StorageErrors.changing(folder.toString, "could not be reached") {
      val system = ObjectClients.of(folder, conf)
      if (system.hasPathCapability(folder, CommonPathCapabilities.ABORTABLE_STREAM)) {
        new ObjectFileStore(system, folder)
      } else {
        tellOfRenaming(scheme, system, conf)
        new HadoopFileStore(folder, conf)
      }
    }

  /** Once for each scheme; as a warning where two attempts at a task write one name. */
  private def tellOfRenaming(scheme: String, system: FileSystem, conf: Configuration): Unit = {
    // A session's settings are among those of Hadoop that Spark makes of it.
    val keepsApart = conf.get(FormatSetting, "1") != "1"
    if (reported.add((scheme, keepsApart))) {
      val way = s"$scheme: is reached through Spark's checkpoint file manager, which renames: " +
        s"${system.getClass.getName} cannot abort a write"
      if (keepsApart) log.info(way)
      else
        log.warn(
          s"$way. With checkpoint format 1 a late attempt at a task replaces the file of a committed version. Where that is a " +
            "delete and then a rename, as in object stores, the file is lost if the attempt dies between the two. Set " +
            s"$FormatSetting=2 before the query's first batch: then each attempt has files of its own."
        )
    }
  }

  /**
   * On this machine's disk. `getPath` gives the name as it is on the disk, with the URI's escapes undone;
   * where the JVM's own encoding has no form for it, Hadoop may still find one.
   */
  private def local(folder: Path): Option[FileStore] =
    try Some(new NioFileStore(Paths.get(folder.toUri.getPath).toAbsolutePath))
    catch { case _: InvalidPathException => None }
}
