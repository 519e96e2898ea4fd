package io.bucketstate.checkpoint.io

import java.io.{FileNotFoundException, OutputStream}

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FileStatus, Path}
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

/**
 * A checkpoint folder on any file system that Spark can keep a checkpoint on. Its guarantees are those
 * of the file manager: replacing a file is atomic where Spark's is, which Hadoop's local file system
 * is not (it deletes the old file first, and one that keeps `.crc` companions opens the file anew for
 * each read), so that a reader at that moment may find the file missing, or not fitting its checksum,
 * but never mixed.
 */
final class HadoopFileStore(folder: Path, conf: Configuration) extends FileStore {
  private[this] val manager = CheckpointFileManager.create(folder, conf)
  // Asked with the first write: whoever only reads may not be allowed to try.
  private[this] lazy val replaces = FileManagers.requireReplacing(manager, folder, conf)

  val location: String = folder.toString

  def write(name: String)(body: OutputStream => Unit): Unit = {
    val target = resolve(name)
    StorageErrors.changing(target.toString, "could not be written") {
      val out = create(target)
      try {
        body(out)
        out.close()
      } catch {
        case failure: Throwable =>
          try out.cancel()
          catch { case NonFatal(second) => failure.addSuppressed(second) }
          throw failure
      }
    }
  }

  /** Reads to the end: asking for the length first would cost an object store another call. */
  def read(name: String, length: Option[Long]): Array[Byte] =
    reading(name)(HadoopReads.upTo(_, Int.MaxValue))

  def readPrefix(name: String, atMost: Int): Array[Byte] =
    reading(name)(HadoopReads.upTo(_, atMost))

  def open(name: String, length: Option[Long], inOrder: Boolean): ReadableFile = {
    val path = resolve(name)
    StorageErrors.translate(path.toString, "could not be opened") {
      val found = manager.list(path).headOption.filter(_.isFile).map(_.getLen).getOrElse {
        throw new FileNotFoundException(s"$path is not a file")
      }
      new HadoopFile(path.toString, found, HadoopReads.mayBeReplaced(manager.open(path)))
    }
  }

  def exists(name: String): Boolean = {
    val path = resolve(name)
    StorageErrors.translate(path.toString, "could not be looked up")(manager.exists(path))
  }

  def list(inside: String): Seq[ListedFile] = {
    val path = resolve(inside)
    StorageErrors.translate(path.toString, "could not be listed") {
      val found =
        try manager.list(path)
        catch { case _: FileNotFoundException => Array.empty[FileStatus] }
      found.toIndexedSeq.flatMap(HadoopReads.listed(inside, path, _))
    }
  }

  def delete(name: String): Unit = {
    val path = resolve(name)
    StorageErrors.changing(path.toString, "could not be deleted") {
      // Spark's contract promises silence about a missing file, not all its managers keep it.
      try manager.delete(path)
      catch { case _: FileNotFoundException => () }
    }
  }

  /** Also on `file:` the bytes belong to the file manager, which may keep them in its own way. */
  def localPath(name: String): Option[java.nio.file.Path] = None

  def createFolder(): Unit =
    StorageErrors.changing(location, "could not be created")(manager.mkdirs(folder))

  def close(): Unit = FileManagerEnd.of(manager)

  private def resolve(name: String): Path = if (name.isEmpty) folder else new Path(folder, name)

  private def create(target: Path): CheckpointFileManager.CancellableFSDataOutputStream = {
    replaces
    try manager.createAtomic(target, overwriteIfPossible = true)
    catch {
      case _: FileNotFoundException =>
        manager.mkdirs(target.getParent)
        manager.createAtomic(target, overwriteIfPossible = true)
    }
  }

  private def reading[A](name: String)(body: FSDataInputStream => A): A = {
    val path = resolve(name)
    StorageErrors.translate(path.toString, "could not be read") {
      HadoopReads.mayBeReplaced(Using.resource(manager.open(path))(body))
    }
  }
}
