package io.bucketstate.testkit

import org.apache.hadoop.fs.{LocalFileSystem, Path}

/** Renames to no name that is taken, as HDFS and Hive's local file system. */
final class KeepingFileSystem extends LocalFileSystem {
  override def rename(from: Path, to: Path): Boolean = !exists(to) && super.rename(from, to)
}
