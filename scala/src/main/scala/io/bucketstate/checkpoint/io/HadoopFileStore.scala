package io.bucketstate.checkpoint.io

import java.io.{EOFException, FileNotFoundException, InputStream, OutputStream}
import java.nio.file.{InvalidPathException, Paths}
import java.util.Arrays

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{FSDataInputStream, FileSystem, Path}
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager

/**
 * A checkpoint folder on any file system that Spark can keep a checkpoint on. Its guarantees are those
 * of the file manager: replacing a file is atomic where Spark's is, which Hadoop's local file system
 * is not (it deletes the old file first, and one that keeps `.crc` companions opens the file anew for
 * each read), so that a reader at that moment may find the file missing, or not fitting its checksum,
 * but never mixed.
 */
final class HadoopFileStore(folder: Path, manager: CheckpointFileManager) extends FileStore {

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
  def read(name: String): Array[Byte] = reading(name)(readUpTo(_, Int.MaxValue))

  def readPrefix(name: String, atMost: Int): Array[Byte] = reading(name)(readUpTo(_, atMost))

  def open(name: String): ReadableFile = {
    val path = resolve(name)
    StorageErrors.translate(path.toString, "could not be opened") {
      val length = manager.list(path).headOption.filter(_.isFile).map(_.getLen).getOrElse {
        throw new FileNotFoundException(s"$path is not a file")
      }
      new HadoopFile(path.toString, length, manager.open(path))
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
        catch { case _: FileNotFoundException => Array.empty[org.apache.hadoop.fs.FileStatus] }
      found.toIndexedSeq.filter(s => s.isFile && s.getPath != path).collect {
        case s if !NioFileStore.isChecksum(s.getPath.getName) =>
          val name = s.getPath.getName
          val full = if (inside.isEmpty) name else s"$inside/$name"
          ListedFile(full, s.getLen, s.getModificationTime)
      }
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

  def close(): Unit = manager.close()

  private def resolve(name: String): Path = if (name.isEmpty) folder else new Path(folder, name)

  private def create(target: Path): CheckpointFileManager.CancellableFSDataOutputStream =
    try manager.createAtomic(target, overwriteIfPossible = true)
    catch {
      case _: FileNotFoundException =>
        manager.mkdirs(target.getParent)
        manager.createAtomic(target, overwriteIfPossible = true)
    }

  private def reading[A](name: String)(body: FSDataInputStream => A): A = {
    val path = resolve(name)
    StorageErrors.translate(path.toString, "could not be read") {
      Using.resource(manager.open(path))(body)
    }
  }

  private def readUpTo(in: InputStream, atMost: Int): Array[Byte] = {
    var bytes = new Array[Byte](math.min(atMost, 64 * 1024))
    var used = 0
    var ended = false
    while (!ended && used < atMost) {
      if (used == bytes.length) {
        bytes = Arrays.copyOf(bytes, math.min(atMost.toLong, used.toLong * 2).toInt)
      }
      val n = in.read(bytes, used, bytes.length - used)
      if (n < 0) ended = true else used += n
    }
    if (used == bytes.length) bytes else Arrays.copyOf(bytes, used)
  }

  private final class HadoopFile(path: String, val length: Long, in: FSDataInputStream)
      extends ReadableFile {

    def read(position: Long, count: Int): Array[Byte] =
      StorageErrors.translate(path, "could not be read") {
        val bytes = new Array[Byte](count)
        try in.readFully(position, bytes, 0, count)
        catch { case e: EOFException => throw StorageErrors.tooShort(path, position, count, e) }
        bytes
      }

    def close(): Unit = in.close()
  }
}

/** Chooses how a checkpoint folder is reached. */
object FileStores {

  /** Spark's setting that names the user's own `CheckpointFileManager`; who names one, gets it. */
  val FileManagerSetting: String = FileManagers.Setting

  def forFolder(folder: Path, hadoopConf: Configuration): FileStore =
    localFolder(folder, hadoopConf) match {
      case Some(local) => new NioFileStore(local)
      case None        => new HadoopFileStore(folder, FileManagers.open(folder, hadoopConf))
    }

  /**
   * The folder on this machine's disk, if that is where it is. `getPath` gives the name as it is on
   * the disk, with the URI's escapes undone; where the JVM's own encoding has no form for it, Hadoop
   * may still find one.
   */
  private def localFolder(folder: Path, conf: Configuration): Option[java.nio.file.Path] = {
    val scheme = Option(folder.toUri.getScheme).getOrElse(FileSystem.getDefaultUri(conf).getScheme)
    if (scheme != "file" || conf.get(FileManagerSetting) != null) None
    else {
      try Some(Paths.get(folder.toUri.getPath).toAbsolutePath)
      catch { case _: InvalidPathException => None }
    }
  }
}
