package io.bucketstate.checkpoint.io

import java.nio.file.{InvalidPathException, Paths}
import java.util.concurrent.ConcurrentHashMap

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{CommonPathCapabilities, FileSystem, Path}
import org.slf4j.LoggerFactory

/** Chooses how a checkpoint folder is reached. */
object FileStores {

  private[this] val log = LoggerFactory.getLogger(getClass)
  private[this] val warned = ConcurrentHashMap.newKeySet[String]()

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
        if (warned.add(scheme)) {
          log.info(
            s"$scheme: is reached through Spark's checkpoint file manager, which renames: " +
              s"${system.getClass.getName} cannot abort a write"
          )
        }
        new HadoopFileStore(folder, conf)
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
