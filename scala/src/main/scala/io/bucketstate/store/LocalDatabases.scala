package io.bucketstate.store

import java.nio.channels.{FileChannel, OverlappingFileLockException}
import java.nio.file.StandardOpenOption.{CREATE, WRITE}
import java.nio.file.{Files, Path}
import java.util.UUID

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.bucketstate.checkpoint.run.WorkFolder
import io.bucketstate.config.RocksDbConfig
import io.bucketstate.rocksdb.{ExecutorNative, NativeOptions, StateDatabase}

/** Where a store's databases come from. Thread-safe. */
private[bucketstate] trait Databases {

  /** An empty one in a folder of its own. */
  def create(): StateDatabase

  /** Closes one, and deletes its folder. */
  def discard(database: StateDatabase): Unit

  /** There will be no other. One that is still being made is discarded by who makes it. */
  def close(): Unit
}

/**
 * The databases of one store, in folders beside each other. Whoever has one holds a lock on a file in it, so that those
 * which a process left behind when it died are told from those in use, and deleted.
 *
 * @param newFolder where; asked when there is a first one
 */
private[bucketstate] final class LocalDatabases(
    newFolder: () => WorkFolder,
    config: RocksDbConfig,
    limits: ExecutorNative.Limits,
    newId: () => UUID
) extends Databases {
  import LocalDatabases._

  private[this] val log = LoggerFactory.getLogger(classOf[LocalDatabases])
  private[this] var used = Option.empty[(WorkFolder, ExecutorNative.Lease)]
  private[this] val owned = mutable.HashMap.empty[Path, FileChannel]
  private[this] var closed = false

  override def create(): StateDatabase = {
    val (path, shared) = synchronized {
      if (closed) throw new IllegalStateException("the store was closed")
      if (used.isEmpty) begin()
      val (folder, shared) = used.get
      val path = folder.path.resolve(s"$Prefix${newId()}")
      owned(path) = null // until there is a folder
      (path, shared)
    }
    try {
      val database = StateDatabase.create(path, new NativeOptions(config, shared))
      own(path)
      database
    } catch {
      case failure: Throwable =>
        try forget(path)
        catch { case NonFatal(second) => failure.addSuppressed(second) }
        throw failure
    }
  }

  override def discard(database: StateDatabase): Unit =
    try database.close()
    finally forget(database.folder)

  override def close(): Unit = synchronized {
    closed = true
    end()
  }

  private def begin(): Unit = {
    val folder = newFolder()
    if (!folder.temporary) deleteDead(folder.path)
    used = Some((folder, ExecutorNative.join(limits)))
  }

  private def own(path: Path): Unit = {
    val channel = FileChannel.open(path.resolve(Owner), CREATE, WRITE)
    channel.lock()
    synchronized(owned(path) = channel)
  }

  private def forget(path: Path): Unit = {
    val owner = synchronized(owned.remove(path))
    try {
      owner.foreach(channel => if (channel != null) channel.close())
      WorkFolder.deleteAll(path)
    } finally synchronized(end())
  }

  /** With the last database goes what it shares with others. */
  private def end(): Unit = if (closed && owned.isEmpty) {
    used.foreach { case (folder, shared) =>
      shared.close()
      if (folder.temporary) WorkFolder.deleteAll(folder.path)
    }
    used = None
  }

  private def deleteDead(folder: Path): Unit =
    try
      if (Files.isDirectory(folder))
        Using
          .resource(Files.list(folder))(_.iterator.asScala.toSeq)
          .filter(path => path.getFileName.toString.startsWith(Prefix) && isDead(path))
          .foreach(WorkFolder.deleteAll)
    catch {
      case NonFatal(e) => log.warn(s"Databases of a process that died may be left in $folder", e)
    }

  /** Nobody has its lock. One that is just being made has no such file. */
  private def isDead(path: Path): Boolean = {
    val owner = path.resolve(Owner)
    Files.exists(owner) && Using.resource(FileChannel.open(owner, WRITE)) { channel =>
      try Option(channel.tryLock()).isDefined
      catch { case _: OverlappingFileLockException => false }
    }
  }
}

private object LocalDatabases {
  private val Prefix = "db-"
  private val Owner = "bucketstate.owner"
}
