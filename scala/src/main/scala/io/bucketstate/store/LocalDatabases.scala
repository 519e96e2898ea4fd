package io.bucketstate.store

import java.util.UUID

import io.bucketstate.checkpoint.run.WorkFolder
import io.bucketstate.config.RocksDbConfig
import io.bucketstate.rocksdb.{ExecutorNative, NativeOptions, StateDatabase}

/** Where a store's databases come from. Thread-safe. */
private[bucketstate] trait Databases {

  /** An empty one in a folder of its own. */
  def create(): StateDatabase

  /** Closes one, and deletes its folder. */
  def discard(database: StateDatabase): Unit

  /** All were discarded, and there will be no other. */
  def close(): Unit
}

/**
 * The databases of one store, in folders beside each other.
 *
 * @param newFolder where; asked when there is a first one
 */
private[bucketstate] final class LocalDatabases(
    newFolder: () => WorkFolder,
    config: RocksDbConfig,
    limits: ExecutorNative.Limits,
    newId: () => UUID
) extends Databases {
  private[this] var used = Option.empty[(WorkFolder, ExecutorNative.Lease)]

  override def create(): StateDatabase = {
    val (folder, shared) = synchronized {
      used = used.orElse(Some((newFolder(), ExecutorNative.join(limits))))
      used.get
    }
    StateDatabase.create(folder.path.resolve(s"db-${newId()}"), new NativeOptions(config, shared))
  }

  override def discard(database: StateDatabase): Unit = {
    database.close()
    WorkFolder.deleteAll(database.folder)
  }

  override def close(): Unit = synchronized {
    used.foreach { case (folder, shared) =>
      shared.close()
      if (folder.temporary) WorkFolder.deleteAll(folder.path)
    }
    used = None
  }
}
