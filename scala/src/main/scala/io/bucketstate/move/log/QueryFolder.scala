package io.bucketstate.move.log

import java.io.FileNotFoundException

import scala.collection.mutable.ArrayBuffer

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FileAlreadyExistsException, FileStatus, FileUtil, Path}
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

import io.bucketstate.checkpoint.io.{FileStore, FileStores, StorageErrors}
import io.bucketstate.error.ConflictException

/**
 * The folder of one query's checkpoint, with Spark's logs in it. Names are relative to it. Small files are written as those
 * of a store are: whole, or not at all. For one thread.
 *
 * @param objectStores schemes of stores where a file appears whole when it is closed
 */
private[bucketstate] final class QueryFolder(
    val root: Path,
    hadoop: Configuration,
    objectStores: Set[String]
) extends AutoCloseable {
  private[this] val system = StorageErrors.changing(root.toString, "could not be reached") {
    root.getFileSystem(hadoop)
  }
  private[this] val files: FileStore = FileStores.forFolder(root, hadoop, objectStores)

  val path: Path = system.makeQualified(root)

  def location: String = path.toString

  def locationOf(name: String): String = s"$location/$name"

  def exists(name: String): Boolean = files.exists(name)

  def read(name: String): Array[Byte] = files.read(name)

  def write(name: String, bytes: Array[Byte]): Unit = files.write(name)(_.write(bytes))

  /** Writes a file of one of Spark's logs as Spark does, so that only one of two writers gets it. */
  def writeNew(name: String, bytes: Array[Byte]): Unit = {
    def taken(cause: Throwable) = new ConflictException(
      s"${locationOf(name)} is there already: a query, or another move, runs on this checkpoint",
      "Stop it, wait until its application has ended, and run the same command again.",
      cause
    )
    if (exists(name)) throw taken(null)
    if (files.isObjectStore) {
      if (!files.writeNew(name)(_.write(bytes))) throw taken(null)
    } else
      StorageErrors.changing(locationOf(name), "could not be written") {
        val out = manager.createAtomic(new Path(path, name), overwriteIfPossible = false)
        try {
          out.write(bytes)
          out.close()
        } catch {
          case e: FileAlreadyExistsException => throw taken(e)
          case e: Throwable                  =>
            out.cancel()
            throw e
        }
      }
  }

  private[this] lazy val manager = CheckpointFileManager.create(path, hadoop)

  def delete(name: String): Unit = files.delete(name)

  /** The names of the files of a folder, without it. */
  def names(inside: String): Seq[String] =
    files.list(inside).map(_.name.stripPrefix(s"$inside/"))

  /** Numbers that files of a folder are named by, ascending. */
  def numbers(folder: String): Seq[Long] =
    files.list(folder).map(_.name.split('/').last).flatMap(QueryFolder.number).sorted

  /** The names of the folders of a folder, without it; ascending. */
  def folders(inside: String): Seq[String] = listed(inside).filter(_._2).map(_._1).sorted

  /** Whether there is nothing at all. */
  def isEmpty: Boolean = listed("").isEmpty

  /** Every file below a folder with its length, by its name from the checkpoint on. What goes meanwhile may be left out. */
  def lengths(inside: String): Map[String, Long] =
    StorageErrors.translate(locationOf(inside), "could not be listed") {
      // Of local files Hadoop's own way asks a program for the rights of each, and fails where one has gone.
      val all = if (files.isObjectStore) flat(at(inside)) else below(at(inside))
      all.map(file => path.toUri.relativize(file.getPath.toUri).getPath -> file.getLen).toMap
    }

  /** The files by one request for a thousand of them. */
  private def flat(folder: Path): Seq[FileStatus] = {
    val found = ArrayBuffer.empty[FileStatus]
    try {
      val all = system.listFiles(folder, true)
      while (all.hasNext) found += all.next()
    } catch { case _: FileNotFoundException => () }
    found.toSeq
  }

  private def below(folder: Path): Seq[FileStatus] =
    in(folder).flatMap(one => if (one.isDirectory) below(one.getPath) else Seq(one))

  private def in(folder: Path): Seq[FileStatus] =
    try system.listStatus(folder).toSeq
    catch { case _: FileNotFoundException => Nil }

  /** Copies a folder with all that is in it, if it is there. */
  def copyFolder(from: QueryFolder, inside: String): Unit = {
    val source = new Path(from.path, inside)
    StorageErrors.changing(locationOf(inside), s"could not be copied from $source") {
      val there = source.getFileSystem(hadoop)
      if (there.exists(source)) {
        val target = new Path(path, inside)
        system.mkdirs(target.getParent)
        FileUtil.copy(there, source, system, target, false, true, hadoop)
        ()
      }
    }
  }

  /** Deletes a folder with all that is in it. */
  def deleteFolder(inside: String): Unit =
    StorageErrors.changing(locationOf(inside), "could not be deleted") {
      system.delete(new Path(path, inside), true)
      ()
    }

  override def close(): Unit = files.close()

  private def at(inside: String): Path = if (inside.isEmpty) path else new Path(path, inside)

  private def listed(inside: String): Seq[(String, Boolean)] = {
    val folder = at(inside)
    StorageErrors.translate(folder.toString, "could not be listed") {
      in(folder).map(f => f.getPath.getName -> f.isDirectory)
    }
  }
}

private[bucketstate] object QueryFolder {

  def number(name: String): Option[Long] =
    Option.when(name.nonEmpty && name.length < 19 && name.forall(c => c >= '0' && c <= '9'))(
      name.toLong
    )
}
