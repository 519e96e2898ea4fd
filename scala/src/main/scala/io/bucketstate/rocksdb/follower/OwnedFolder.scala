package io.bucketstate.rocksdb.follower

import java.lang.management.ManagementFactory
import java.nio.channels.{FileChannel, FileLock, OverlappingFileLockException}
import java.nio.file.StandardOpenOption.{CREATE, WRITE}
import java.nio.file.{DirectoryNotEmptyException, Files, NoSuchFileException, Path}
import java.util.UUID

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.Using

import io.bucketstate.checkpoint.io.WorkFolder

/**
 * A folder of this process, which others may delete once it has died: until then it holds a lock on a file in it. That is
 * lost with the first descriptor of the file that this process closes, so nobody opens it here again: what this process
 * owns is told by its name.
 */
private[bucketstate] final class OwnedFolder private (val path: Path, owner: FileChannel) {

  /** With all that is in it. Nobody else takes it meanwhile. */
  def delete(): Unit =
    try WorkFolder.deleteAll(path)
    finally owner.close()
}

private[bucketstate] object OwnedFolder {
  private val Prefix = "db-"
  private val Owner = "bucketstate.owner"

  /** No process has had the same number since the same time. */
  private val Own = {
    val process = ManagementFactory.getRuntimeMXBean
    s"$Prefix${ProcessHandle.current.pid}-${process.getStartTime}-"
  }

  /**
   * A new one. Throws what the disk refuses, and leaves nothing then.
   *
   * @param lock waits for the lock
   */
  @tailrec
  def make(
      parent: Path,
      newId: () => UUID,
      lock: FileChannel => FileLock = _.lock()
  ): OwnedFolder = {
    val path = Files.createDirectories(parent.resolve(s"$Own${newId()}"))
    val owned =
      try locked(path, lock)
      catch {
        case failure: Throwable =>
          try WorkFolder.deleteAll(path)
          catch { case second: Throwable => failure.addSuppressed(second) }
          throw failure
      }
    owned match {
      case Some(channel) => new OwnedFolder(path, channel)
      case None          => make(parent, newId, lock)
    }
  }

  /** None if the folder is not there any more. */
  private def locked(path: Path, lock: FileChannel => FileLock): Option[FileChannel] =
    try lockedIn(path, lock)
    catch { case _: NoSuchFileException => None }

  private def lockedIn(path: Path, lock: FileChannel => FileLock): Option[FileChannel] = {
    val channel = FileChannel.open(path.resolve(Owner), CREATE, WRITE)
    var isOwned = false
    try {
      lock(channel)
      // Before it was locked somebody may have found it dead. Whoever deletes has the lock meanwhile.
      isOwned = Files.exists(path.resolve(Owner))
      Option.when(isOwned)(channel)
    } finally if (!isOwned) channel.close()
  }

  /** Deletes those in a folder whose process has died; how many. Throws what the disk refuses. */
  def deleteDead(parent: Path): Int =
    if (!Files.isDirectory(parent)) 0
    else {
      val all = Using.resource(Files.newDirectoryStream(parent, s"$Prefix*"))(_.asScala.toVector)
      all.filterNot(_.getFileName.toString.startsWith(Own)).count(deleteIfDead)
    }

  /**
   * For a folder of another process. One that is empty may be just being made, and is made anew then; one that has no such
   * file but others is being deleted.
   */
  private[bucketstate] def deleteIfDead(path: Path): Boolean =
    try
      Using.resource(FileChannel.open(path.resolve(Owner), WRITE)) { channel =>
        val isDead =
          try Option(channel.tryLock()).isDefined
          catch { case _: OverlappingFileLockException => false }
        if (isDead) WorkFolder.deleteAll(path)
        isDead
      }
    catch { case _: NoSuchFileException => deleteIfEmpty(path) }

  private def deleteIfEmpty(path: Path): Boolean =
    try Files.deleteIfExists(path)
    catch { case _: DirectoryNotEmptyException => false }
}
