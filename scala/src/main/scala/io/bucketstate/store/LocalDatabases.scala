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

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.run.WorkFolder
import io.bucketstate.config.RocksDbConfig
import io.bucketstate.error.{InvalidException, UnavailableException}
import io.bucketstate.rocksdb.{
  ExecutorNative,
  LocalStates,
  NativeErrors,
  NativeOptions,
  StateDatabase,
  WrittenVersion
}

/** Where a store's databases come from. Thread-safe. */
private[bucketstate] trait Databases {

  /** An empty one in a folder of its own. */
  def create(): StateDatabase

  /** What ones before it have left, of whatever history. */
  def left: Seq[Attempt]

  /**
   * One that begins with the newest of these commits of the store which one before it has left, and what it holds. None if
   * nothing was left of them that is of use.
   */
  def resume(commits: Map[Attempt, UUID]): Option[(StateDatabase, WrittenVersion)]

  /** Whether what they leave outlives them. */
  def areLasting: Boolean

  /** Leaves what one holds to a later one, if they are lasting. Throws what the disk refuses. */
  def leave(database: StateDatabase, version: WrittenVersion): Unit

  /** What was left may be of no use, as a database turned out to be. */
  def forget(): Unit

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
 * @param states    what databases leave to later ones, where the folder outlives them
 */
private[bucketstate] final class LocalDatabases(
    newFolder: () => WorkFolder,
    states: Option[LocalStates],
    config: RocksDbConfig,
    limits: ExecutorNative.Limits,
    newId: () => UUID
) extends Databases {
  import LocalDatabases._

  private[this] val log = LoggerFactory.getLogger(classOf[LocalDatabases])
  private[this] var used = Option.empty[Used]
  private[this] val owned = mutable.HashMap.empty[Path, FileChannel]
  private[this] var closed = false

  override def create(): StateDatabase = {
    val (path, using) = newPlace()
    owning(path)(StateDatabase.create(path, new NativeOptions(config, using.shared)))
  }

  override def left: Seq[Attempt] = states.toSeq.flatMap(_.left)

  override def resume(commits: Map[Attempt, UUID]): Option[(StateDatabase, WrittenVersion)] = {
    val (path, using) = newPlace()
    try {
      val resumed = owning(path) {
        states.flatMap(_.take(commits, path)).map { version =>
          val families = version.families.map(_.descriptor)
          StateDatabase.open(path, new NativeOptions(config, using.shared), families) -> version
        }
      }
      if (resumed.isEmpty) release(path)
      resumed
    } catch {
      case e @ (_: UnavailableException | _: InvalidException) =>
        log.warn(s"What was left beside $path is not used, the checkpoint is read in its place", e)
        forget()
        None
    }
  }

  override def areLasting: Boolean = states.isDefined

  override def leave(database: StateDatabase, version: WrittenVersion): Unit =
    states.foreach(_.leave(database, version))

  override def forget(): Unit = states.foreach(_.forget())

  override def discard(database: StateDatabase): Unit =
    try database.close()
    finally release(database.folder)

  override def close(): Unit = synchronized {
    closed = true
    end()
  }

  private def newPlace(): (Path, Used) = synchronized {
    if (closed) throw new IllegalStateException("the store was closed")
    if (used.isEmpty) used = Some(begin())
    val path = used.get.folder.path.resolve(s"$Prefix${newId()}")
    owned(path) = null // until there is a folder
    (path, used.get)
  }

  private def begin(): Used = {
    val folder = newFolder()
    if (!folder.temporary) deleteDead(folder.path)
    Used(folder, ExecutorNative.join(limits))
  }

  /** Makes a folder that is there as long as there is what `make` makes in it. */
  private def owning[A](path: Path)(make: => A): A =
    try {
      NativeErrors.writing(path, "the folder of the local RocksDB database could not be made") {
        Files.createDirectories(path)
        val channel = FileChannel.open(path.resolve(Owner), CREATE, WRITE)
        synchronized(owned(path) = channel)
        channel.lock()
      }
      make
    } catch {
      case failure: Throwable =>
        try release(path)
        catch { case NonFatal(second) => failure.addSuppressed(second) }
        throw failure
    }

  private def release(path: Path): Unit = {
    val owner = synchronized(owned.remove(path))
    try {
      owner.foreach(channel => if (channel != null) channel.close())
      WorkFolder.deleteAll(path)
    } finally synchronized(end())
  }

  /** With the last database goes what it shares with others. */
  private def end(): Unit = if (closed && owned.isEmpty) {
    used.foreach { using =>
      using.shared.close()
      if (using.folder.temporary) WorkFolder.deleteAll(using.folder.path)
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

  private final case class Used(folder: WorkFolder, shared: ExecutorNative.Lease)
}
