package io.bucketstate.checkpoint.run

import java.io.{FileInputStream, OutputStream}
import java.nio.file.attribute.FileTime
import java.nio.file.{FileSystemException, Files, NoSuchFileException, Path, StandardCopyOption}
import java.time.{Clock, Duration}
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap
import java.util.zip.CRC32C

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import io.bucketstate.checkpoint.io.{
  CheckpointFiles,
  Damage,
  Exclusive,
  FileStore,
  ReadableFile,
  StorageErrors,
  WorkFolder
}
import io.bucketstate.error.CorruptException

/**
 * The plain local files behind a store's runs, which is all RocksDB can open. Where the checkpoint is
 * on a local disk they are the checkpoint's own; otherwise they are copies in `workFolder`, which a store
 * may share with itself after a restart, or with another attempt on the same machine: a copy has its
 * file's name, which no other file ever gets, and appears under it only when it is whole.
 *
 * A copy is used only if its length and checksum are those of the manifest: one whose upload failed, or
 * that belongs to another history, can never be taken for the file (SPARK-43404, SPARK-46796).
 *
 * Thread-safe; two threads that want the same file fetch it once, and an interrupt ends the waiting for another thread
 * (see [[io.bucketstate.checkpoint.io.Exclusive]]).
 */
final class LocalRuns(folder: FileStore, workFolder: WorkFolder, clock: Clock = Clock.systemUTC()) {
  import LocalRuns._

  private[this] val locks =
    Array.fill(64)(new Exclusive) // by name; few files are wanted at a time
  private[this] val verified = ConcurrentHashMap.newKeySet[String]() // names

  /** Where to write a file that will get this name; no other call gives the same place. */
  private[checkpoint] def workFile(name: String): Path = {
    WorkFolder.writing(workFolder.path)(workFolder.make())
    workFolder.path.resolve(s"${CheckpointFiles.leaf(name)}.${UUID.randomUUID()}$Unfinished")
  }

  /** Makes such a file. */
  private[checkpoint] def create: Path => OutputStream = workFolder.create

  /** The work file was uploaded: it becomes the copy, where there is to be one. */
  private[checkpoint] def keep(name: String, work: Path): Unit = WorkFolder.writing(work) {
    if (isCopied(name)) Files.move(work, copyOf(name), StandardCopyOption.REPLACE_EXISTING)
    else Files.deleteIfExists(work)
    ()
  }

  /** Whether there are copies of it here; else it is the checkpoint's own that is read. */
  private[run] def isCopied(name: String): Boolean = folder.localPath(name).isEmpty

  /** Names what is wrong with a file: of a copy, what it is a copy of. */
  private[run] def damageOf(file: RunFile): Damage =
    LocalRuns.damageOf(file, pathOf(file.name))

  /** Where a file lies in the checkpoint. */
  private[run] def pathOf(name: String): String =
    folder.localPath(name).fold(s"${folder.location}/$name")(_.toString)

  /**
   * Hands a local file of the length that the manifest promises to whoever opens it; it is there until `open`
   * returns. A file that had to be fetched was verified whole; of one that lies in the checkpoint each
   * block is, when it is read. Throws `MissingException` if there is none, `CorruptException` if it has
   * other bytes.
   */
  def using[A](file: RunFile)(open: Path => A): A =
    alone(file.name)(open(located(file)))

  /**
   * Hands a local file to whoever opens it again: a copy that is there is not verified as a whole again, only its length is.
   * Its blocks are verified when they are read.
   */
  private[run] def usingAgain[A](file: RunFile)(open: Path => A): A =
    alone(file.name) {
      val copy = copyOf(file.name)
      if (isCopied(file.name) && hasLength(copy, file)) {
        touch(copy)
        open(copy)
      } else open(located(file))
    }

  /** A block of a copy is not what was written: it is fetched again, unless it is right as a whole. */
  private[run] def mend(file: RunFile): Unit = alone(file.name) {
    located(file)
    ()
  }

  /**
   * Sees to it, once, that every byte of a file is what the manifest promises, those included that are
   * in blocks which nobody reads. Throws as [[using]] does.
   */
  def verify(file: RunFile): Unit = alone(file.name) {
    // Each scan asks for it, and has each block verified that it reads.
    if (verified.contains(file.name) && isCopied(file.name) && hasLength(copyOf(file.name), file)) {
      touch(copyOf(file.name))
    } else {
      val path = located(file)
      if (!verified.contains(file.name)) {
        StorageErrors.translate(path.toString, "could not be read") {
          verifyChecksum(file, checksum(path), damageOf(file))
        }
        verified.add(file.name)
        ()
      }
    }
  }

  private def located(file: RunFile): Path = folder.localPath(file.name) match {
    case Some(path) =>
      StorageErrors.translate(path.toString, "could not be opened") {
        verifyLength(file, Files.size(path), damageOf(file))
      }
      path
    case None =>
      val copy = copyOf(file.name)
      if (isIntact(copy, file)) touch(copy) else fetch(file, copy)
      verified.add(file.name)
      copy
  }

  /** Gives a file that was verified whole a second name on this machine, which is on its own: a link, or else a copy. */
  private[run] def link(file: RunFile, target: Path): Unit = {
    verify(file)
    using(file) { path =>
      WorkFolder.writing(target) {
        try Files.createLink(target, path)
        catch {
          case _: UnsupportedOperationException | _: FileSystemException =>
            Files.copy(path, target, StandardCopyOption.REPLACE_EXISTING)
        }
        ()
      }
    }
  }

  /**
   * Deletes the copies of files that are not among these, and work that was left unfinished long ago. In
   * a folder that others may use, too (another attempt, a reader of the same store), only copies that
   * nobody has asked for since long.
   */
  def retain(names: Set[String]): Unit =
    StorageErrors.changing(workFolder.path.toString, "could not be tidied") {
      val kept = names.map(CheckpointFiles.leaf)
      if (Files.isDirectory(workFolder.path)) {
        // Folders beside them are others'.
        Using
          .resource(Files.newDirectoryStream(workFolder.path, Files.isRegularFile(_)))(
            _.asScala.toSeq
          )
          .foreach { path =>
            val name = path.getFileName.toString
            alone(name) {
              val going =
                if (name.endsWith(Unfinished)) isOlder(path, AbandonedAfter)
                else !kept.contains(name) && (workFolder.temporary || isOlder(path, UnusedAfter))
              if (going) Files.deleteIfExists(path)
            }
          }
      }
      verified.retainAll(names.asJava)
      ()
    }

  private def alone[A](name: String)(body: => A): A = {
    val lock = locks(Math.floorMod(CheckpointFiles.leaf(name).hashCode, locks.length))
    lock(pathOf(name))(body)
  }

  private def isOlder(path: Path, age: Duration): Boolean =
    try Files.getLastModifiedTime(path).toInstant.isBefore(clock.instant().minus(age))
    catch { case _: NoSuchFileException => false }

  /** Tells who shares the folder that the copy is wanted. */
  private def touch(copy: Path): Unit =
    StorageErrors.working(copy.toString, "could not be used") {
      Files.setLastModifiedTime(copy, FileTime.from(clock.instant()))
      ()
    }

  private def copyOf(name: String): Path = workFolder.path.resolve(CheckpointFiles.leaf(name))

  private def isIntact(copy: Path, file: RunFile): Boolean =
    StorageErrors.working(copy.toString, "could not be read") {
      hasLength(copy, file) && checksum(copy) == file.checksum
    }

  private def hasLength(copy: Path, file: RunFile): Boolean =
    try Files.size(copy) == file.bytes
    catch { case _: NoSuchFileException => false }

  private def fetch(file: RunFile, copy: Path): Unit = {
    val damage = damageOf(file)
    val work = workFile(file.name)
    try {
      val crc = new CRC32C
      Using.resource(folder.open(file.name, Some(file.bytes), inOrder = true)) { source =>
        verifyLength(file, source.length, damage)
        WorkFolder.writing(work)(Using.resource(create(work))(copyAll(source, _, crc)))
      }
      verifyChecksum(file, crc.getValue.toInt, damage)
      WorkFolder.writing(copy)(Files.move(work, copy, StandardCopyOption.REPLACE_EXISTING))
      ()
    } catch {
      case failure: Throwable =>
        discard(work, failure)
        throw failure
    }
  }

  private def copyAll(source: ReadableFile, out: OutputStream, crc: CRC32C): Unit = {
    var position = 0L
    while (position < source.length) {
      val bytes = source.read(position, math.min(FetchBytes, source.length - position).toInt)
      crc.update(bytes)
      out.write(bytes)
      position += bytes.length
    }
  }
}

private[bucketstate] object LocalRuns {
  private val Unfinished = ".unfinished"
  private val AbandonedAfter = Duration.ofDays(1)
  private val UnusedAfter = Duration.ofHours(1)
  private val FetchBytes = 4L * 1024 * 1024
  private val PartBytes = 8 * 1024

  def discard(work: Path, failure: Throwable): Unit =
    try {
      Files.deleteIfExists(work)
      ()
    } catch { case NonFatal(second) => failure.addSuppressed(second) }

  /** Names what is wrong with a file that is read from there. */
  private[checkpoint] def damageOf(file: RunFile, path: String): Damage =
    new Damage(path, s"run file of ${file.entries} entries")

  /** What is wrong with a file that has so many bytes, if it should not. */
  private[checkpoint] def wrongLength(
      file: RunFile,
      found: Long,
      damage: => Damage
  ): Option[CorruptException] =
    Option.when(found != file.bytes)(
      damage.mismatch("a length in bytes of", file.bytes, found)
    )

  def verifyLength(file: RunFile, found: Long, damage: Damage): Unit =
    wrongLength(file, found, damage).foreach(throw _)

  def verifyChecksum(file: RunFile, found: Int, damage: Damage): Unit =
    if (found != file.checksum) {
      throw damage.mismatch("checksum", file.checksum.toHexString, found.toHexString)
    }

  /**
   * CRC32C of a whole file, read in parts that are small enough to still be in the processor's cache when
   * they are summed up, and for the JDK to read them without allocating.
   */
  def checksum(path: Path): Int =
    Using.resource(new FileInputStream(path.toFile)) { in =>
      val crc = new CRC32C
      val buffer = new Array[Byte](PartBytes)
      var n = in.read(buffer)
      while (n >= 0) {
        crc.update(buffer, 0, n)
        n = in.read(buffer)
      }
      crc.getValue.toInt
    }
}
