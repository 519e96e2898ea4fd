package io.bucketstate.testkit

import java.nio.file.Path

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileSystem, LocalFileSystem, Path => HadoopPath}

import io.bucketstate.checkpoint.io.{FileManagers, FileStore, FileStores}

/** Folders of this machine as Spark's file managers reach them. */
object ManagedStores {

  /**
   * Stores through a file manager.
   *
   * @param system of what is below it: Hadoop's own, where Spark's distributions would bring in Hive's, which
   *               replaces no files
   */
  def apply(manager: Class[_], system: Class[_ <: FileSystem] = classOf[LocalFileSystem])(
      folder: Path
  ): FileStore = {
    val conf = new Configuration
    conf.set(FileManagers.Setting, manager.getName)
    conf.setClass("fs.file.impl", system, classOf[FileSystem])
    conf.setBoolean("fs.file.impl.disable.cache", true)
    FileStores.forFolder(new HadoopPath(folder.toUri), conf)
  }
}
