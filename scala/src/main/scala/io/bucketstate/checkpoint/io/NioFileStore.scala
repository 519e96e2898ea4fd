package io.bucketstate.checkpoint.io

import java.io.{
  BufferedOutputStream,
  EOFException,
  FileNotFoundException,
  FileOutputStream,
  IOException,
  OutputStream,
  RandomAccessFile
}
import java.nio.file.attribute.BasicFileAttributes
import java.nio.file.{
  AtomicMoveNotSupportedException,
  FileSystemException,
  Files,
  NoSuchFileException,
  NotDirectoryException,
  Path,
  StandardCopyOption
}
import java.util.UUID

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

/**
 * A checkpoint folder on a local disk. Hadoop's local file system needs about 20 ms for a create and
 * as much for a rename when its native library is missing, because it forks a `chmod` each time; this
 * needs well under one. Like Spark's own local files a write is not forced to the platter.
 *
 * Streams instead of channels on purpose: a channel is closed under everybody who uses it when one
 * thread is interrupted, and Spark interrupts the threads of the tasks that it kills.
 */
final class NioFileStore(folder: Path, newId: () => UUID = () => UUID.randomUUID())
    extends FileStore {
  import NioFileStore._

  val location: String = folder.toString

  def write(name: String)(body: OutputStream => Unit): Unit = {
    val target = resolve(name)
    val temporary = resolve(TemporaryName(name, newId()).name)
    StorageErrors.changing(target.toString, "could not be written") {
      try {
        Using.resource(new BufferedOutputStream(create(temporary), BufferBytes))(body)
        // Before the move: a file without its checksum is readable, one with another's is not.
        Files.deleteIfExists(checksumOf(target))
        Files.move(
          temporary,
          target,
          StandardCopyOption.ATOMIC_MOVE,
          StandardCopyOption.REPLACE_EXISTING
        )
        ()
      } catch {
        case failure: Throwable =>
          try Files.deleteIfExists(temporary)
          catch { case NonFatal(second) => failure.addSuppressed(second) }
          throw failure
      }
    }
  }

  override def moveIn(name: String, from: Path): Boolean = {
    val target = resolve(name)
    StorageErrors.changing(target.toString, "could not be written") {
      makeFolder(target.getParent)
      Files.deleteIfExists(checksumOf(target))
      try {
        Files.move(from, target, StandardCopyOption.ATOMIC_MOVE)
        true
      } catch { case _: AtomicMoveNotSupportedException => false }
    }
  }

  def read(name: String, length: Option[Long]): Array[Byte] = {
    val path = resolve(name)
    StorageErrors.translate(path.toString, "could not be read")(Files.readAllBytes(path))
  }

  def readPrefix(name: String, atMost: Int): Array[Byte] =
    Using.resource(open(name, None, inOrder = false))(f =>
      f.read(0L, math.min(atMost.toLong, f.length).toInt)
    )

  def open(name: String, length: Option[Long], inOrder: Boolean): ReadableFile = {
    val path = resolve(name)
    StorageErrors.translate(path.toString, "could not be opened") {
      val file =
        try new RandomAccessFile(path.toFile, "r")
        catch {
          // Java calls every file "not found" that it may not open.
          case e: FileNotFoundException if isThere(path) => throw new IOException(e)
        }
      new LocalFile(path.toString, file)
    }
  }

  def exists(name: String): Boolean = {
    val path = resolve(name)
    StorageErrors.translate(path.toString, "could not be looked up")(isThere(path))
  }

  def list(inside: String): Seq[ListedFile] = {
    val path = resolve(inside)
    StorageErrors.translate(path.toString, "could not be listed") {
      try
        Using.resource(Files.newDirectoryStream(path))(_.asScala.flatMap(listed(inside, _)).toSeq)
      catch { case _: NoSuchFileException | _: NotDirectoryException => Nil }
    }
  }

  def delete(name: String): Unit = {
    val path = resolve(name)
    StorageErrors.changing(path.toString, "could not be deleted") {
      // First, because with that alone Hadoop cannot write the file again.
      Files.deleteIfExists(checksumOf(path))
      Files.deleteIfExists(path)
      ()
    }
  }

  def localPath(name: String): Option[Path] = Some(resolve(name))

  def createFolder(): Unit =
    StorageErrors.changing(location, "could not be created")(makeFolder(folder))

  def close(): Unit = ()

  private def resolve(name: String): Path = if (name.isEmpty) folder else folder.resolve(name)

  private def listed(inside: String, path: Path): Option[ListedFile] = {
    val name = path.getFileName.toString
    try {
      val attributes = Files.readAttributes(path, classOf[BasicFileAttributes])
      if (attributes.isDirectory || isChecksum(name)) None
      else {
        val full = if (inside.isEmpty) name else s"$inside/$name"
        Some(ListedFile(full, attributes.size, attributes.lastModifiedTime.toMillis))
      }
    } catch { case _: NoSuchFileException => None } // renamed or deleted since it was listed
  }
}

private[checkpoint] object NioFileStore {
  val BufferBytes: Int = 64 * 1024

  /** `Files.exists` says no where the disk cannot tell. Throws what keeps it from that. */
  def isThere(path: Path): Boolean =
    try {
      Files.readAttributes(path, classOf[BasicFileAttributes])
      true
    } catch {
      case _: NoSuchFileException                   => false
      case _: FileSystemException if isInFile(path) => false
    }

  /** Whether a file lies where the path has a folder: for that Java has no exception of its own. */
  private def isInFile(path: Path): Boolean =
    Iterator
      .iterate(path.getParent)(_.getParent)
      .takeWhile(_ != null)
      .exists(Files.isRegularFile(_))

  def checksumOf(path: Path): Path = path.resolveSibling(s".${path.getFileName}.crc")

  def isChecksum(name: String): Boolean = name.startsWith(".") && name.endsWith(".crc")

  /** The folder is made only when it turns out to be missing: looking first would cost every write. */
  def create(file: Path): OutputStream =
    try new FileOutputStream(file.toFile)
    catch {
      case _: FileNotFoundException if !Files.isDirectory(file.getParent) =>
        makeFolder(file.getParent)
        new FileOutputStream(file.toFile)
    }

  /** `Files.createDirectories` alone refuses a folder that is a symbolic link. */
  def makeFolder(folder: Path): Unit =
    if (!Files.isDirectory(folder)) {
      Files.createDirectories(folder)
      ()
    }

  final class LocalFile(path: String, file: RandomAccessFile) extends ReadableFile {
    val length: Long =
      try file.length()
      catch {
        case e: IOException =>
          file.close()
          throw e
      }

    def read(position: Long, count: Int): Array[Byte] =
      StorageErrors.translate(path, "could not be read") {
        val bytes = new Array[Byte](count)
        try
          file.synchronized {
            file.seek(position)
            file.readFully(bytes)
          }
        catch {
          case e: EOFException => throw StorageErrors.tooShort(path, position, count, e)
        }
        bytes
      }

    def close(): Unit = file.close()
  }
}
