package io.bucketstate.store

import java.lang.management.ManagementFactory
import java.nio.channels.{FileChannel, OverlappingFileLockException}
import java.nio.file.StandardOpenOption.{CREATE, WRITE}
import java.nio.file.{Files, Path}
import java.util.UUID

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._
import scala.util.Using

import io.bucketstate.checkpoint.run.WorkFolder

/**
 * A folder of this process, which others may delete once it has died: until then it holds a lock on a file in it. That is
 * lost with the first descriptor of the file that this process closes, so nobody opens it here again: what this process
 * owns is told by its name.
 */
private[store] final class OwnedFolder private (val path: Path, owner: FileChannel) {

  /** With all that is in it. Nobody else takes it meanwhile. */
  def delete(): Unit =
    try WorkFolder.deleteAll(path)
    finally owner.close()
}

private[store] object OwnedFolder {
  private val Prefix = "db-"
  private val Owner = "bucketstate.owner"

  /** No process has had the same number since the same time. */
  private val Own = {
    val process = ManagementFactory.getRuntimeMXBean
    s"$Prefix${ProcessHandle.current.pid}-${process.getStartTime}-"
  }

  /** A new one. Throws what the disk refuses. */
  @tailrec
  def make(in: Path, newId: () => UUID): OwnedFolder = {
    val path = Files.createDirectories(in.resolve(s"$Own${newId()}"))
    val channel = FileChannel.open(path.resolve(Owner), CREATE, WRITE)
    val isOwned =
      try {
        channel.lock()
        // Before it was locked somebody may have found it dead. Who deletes has the lock meanwhile.
        Files.exists(path.resolve(Owner))
      } catch {
        case failure: Throwable =>
          channel.close()
          throw failure
      }
    if (isOwned) new OwnedFolder(path, channel)
    else {
      channel.close()
      make(in, newId)
    }
  }

  /** Deletes those in a folder whose process has died; how many. Throws what the disk refuses. */
  def deleteDead(in: Path): Int =
    if (!Files.isDirectory(in)) 0
    else {
      val all = Using.resource(Files.newDirectoryStream(in, s"$Prefix*"))(_.asScala.toVector)
      all.filterNot(_.getFileName.toString.startsWith(Own)).count(deleteIfDead)
    }

  /** One that is just being made has no such file. */
  private def deleteIfDead(path: Path): Boolean = {
    val owner = path.resolve(Owner)
    Files.exists(owner) && Using.resource(FileChannel.open(owner, WRITE)) { channel =>
      val isDead =
        try Option(channel.tryLock()).isDefined
        catch { case _: OverlappingFileLockException => false }
      if (isDead) WorkFolder.deleteAll(path)
      isDead
    }
  }
}
