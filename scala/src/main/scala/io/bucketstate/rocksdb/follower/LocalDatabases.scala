package io.bucketstate.rocksdb.follower

import java.nio.file.{Files, Path}
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.util.Try
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.bucketstate.checkpoint.io.{Attempt, Closing, WorkFolder}
import io.bucketstate.config.RocksDbConfig
import io.bucketstate.error.{InvalidException, UnavailableException}
import io.bucketstate.rocksdb.state.{ExecutorNative, LocalStates, StateDatabase, WrittenVersion}
import io.bucketstate.rocksdb.{NativeErrors, NativeOptions, SharedNative}

/** Where a store's databases come from. Thread-safe. */
private[bucketstate] trait Databases {

  /** An empty one in a folder of its own. */
  def create(): StateDatabase

  /**
   * One that begins with the newest of some commits which one before it has left, and what it holds. None if nothing was
   * left of them that is of use.
   */
  def resume(isWanted: (Attempt, UUID) => Boolean): Option[(StateDatabase, WrittenVersion)]

  /** Whether what they leave outlives them. */
  def areLasting: Boolean

  /** Leaves what one holds to a later one, if they are lasting. Throws what the disk refuses. */
  def leave(database: StateDatabase, version: WrittenVersion): Unit

  /** What was left may be of no use, as a database turned out to be. */
  def forget(): Unit

  /** Closes one, and deletes its folder. */
  def discard(database: StateDatabase): Unit

  /** There will be no other. One that is still being made is discarded by whoever makes it. */
  def close(): Unit
}

/**
 * The databases of one store, each in an [[OwnedFolder]], so that those which a process left behind when it died are told
 * from those in use, and deleted.
 *
 * @param newFolder where; asked when there is a first one
 * @param others    folders that other processes may have made in place of one that goes with its store
 * @param states    what databases leave to later ones, where the folder outlives them
 */
private[bucketstate] final class LocalDatabases(
    newFolder: () => WorkFolder,
    others: Path => Seq[Path],
    states: Option[LocalStates],
    config: RocksDbConfig,
    limits: ExecutorNative.Limits,
    newId: () => UUID
) extends Databases {
  import LocalDatabases._

  private[this] val log = LoggerFactory.getLogger(classOf[LocalDatabases])
  private[this] var used = Option.empty[Used]
  private[this] var users = 0 // databases that there are, or that are being made
  private[this] val owned = mutable.HashMap.empty[Path, OwnedFolder]
  private[this] var closed = false
  // A task's, which has the jars that users give: databases are made in threads that may have any.
  private[this] val classes = Thread.currentThread.getContextClassLoader

  override def create(): StateDatabase =
    inNewFolder((path, shared) => StateDatabase.create(path, options(shared)))

  override def resume(
      isWanted: (Attempt, UUID) => Boolean
  ): Option[(StateDatabase, WrittenVersion)] =
    states.filter(_.hasSome).flatMap { from =>
      try
        inNewFolder { (path, shared) =>
          val resumed = from.take(isWanted, path).map { version =>
            val families = version.families.map(_.descriptor)
            StateDatabase.open(path, options(shared), families) -> version
          }
          if (resumed.isEmpty) release(path)
          resumed
        }
      catch {
        case e @ (_: UnavailableException | _: InvalidException) =>
          log.warn(s"What was left for this store is not used, the checkpoint is read instead", e)
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

  private def options(shared: SharedNative) = new NativeOptions(config, shared, classes)

  private def begin(): Used = {
    val folder = newFolder()
    closingIfFailed(() => deleteTemporary(folder)) {
      NativeErrors.writing(folder.path, Unmade)(folder.make())
      if (folder.temporary) deleteOthers(folder.path) else deleteDead(folder.path)
      Used(folder, ExecutorNative.join(limits))
    }
  }

  /** Makes a folder that is there as long as there is what `make` makes in it. */
  private def inNewFolder[A](make: (Path, SharedNative) => A): A = {
    val using = synchronized {
      if (closed) throw new IllegalStateException("the store was closed")
      if (used.isEmpty) used = Some(begin())
      users += 1
      used.get
    }
    val path = closingIfFailed(() => leave()) {
      NativeErrors.writing(using.folder.path, Unmade) {
        val folder = OwnedFolder.make(using.folder.path, newId)
        synchronized(owned(folder.path) = folder)
        folder.path
      }
    }
    closingIfFailed(() => release(path))(make(path, using.shared))
  }

  private def closingIfFailed[A](made: AutoCloseable)(body: => A): A =
    try body
    catch {
      case failure: Throwable =>
        try made.close()
        catch { case second: Throwable => failure.addSuppressed(second) }
        throw failure
    }

  private def release(path: Path): Unit =
    synchronized(owned.remove(path)).foreach { folder =>
      try folder.delete()
      finally leave()
    }

  private def leave(): Unit = synchronized {
    users -= 1
    end()
  }

  /** With the last database goes what it shares with others. */
  private def end(): Unit = if (closed && users == 0) {
    val last = used
    used = None
    last.foreach { using =>
      Closing.all(Seq[AutoCloseable](using.shared, () => deleteTemporary(using.folder)))
    }
  }

  private def deleteTemporary(folder: WorkFolder): Unit =
    if (folder.temporary) WorkFolder.deleteAll(folder.path)

  private def deleteDead(folder: Path): Unit =
    try { val _ = OwnedFolder.deleteDead(folder) }
    catch {
      case NonFatal(e) => log.warn(s"Databases of a process that died may be left in $folder", e)
    }

  /** Once in this process for each place. What belongs to somebody else is passed over. */
  private def deleteOthers(own: Path): Unit = if (Swept.add(own.getParent))
    others(own).foreach { folder =>
      Try(OwnedFolder.deleteDead(folder))
        .filter(_ > 0)
        .foreach(_ => Try(Files.delete(folder))) // unless there is more in it
    }
}

private object LocalDatabases {
  private val Unmade = "the folder of the local RocksDB database could not be made"

  private val Swept = ConcurrentHashMap.newKeySet[Path]()

  private final case class Used(folder: WorkFolder, shared: ExecutorNative.Lease)
}
