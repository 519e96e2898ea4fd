package io.bucketstate.rocksdb

import java.io.IOException

import org.rocksdb.RocksDB

import io.bucketstate.config.ConfigKey
import io.bucketstate.error.UnavailableException

/** RocksDB's native code, which it unpacks from its jar and loads once in a process. Thread-safe. */
private[rocksdb] object NativeLibrary {
  private[this] var failure = Option.empty[Throwable]

  /** Must be called before any native object is made. Throws `UnavailableException` if it cannot be loaded. */
  def require(): Unit = synchronized {
    failure.foreach(cause => throw failed(cause))
    try RocksDB.loadLibrary()
    catch {
      case e: RuntimeException if e.getCause.isInstanceOf[IOException] => throw failed(e)
      case e @ (_: RuntimeException | _: LinkageError)                 =>
        // After these RocksDB itself would wait without end for whoever loads it.
        failure = Some(e)
        throw failed(e)
    }
  }

  private def failed(cause: Throwable) = new UnavailableException(
    s"${ConfigKey.Engine.key}=rocksdb",
    s"RocksDB's native library cannot be loaded in this process: $cause",
    "It is unpacked into the folder that the environment's ROCKSDB_SHAREDLIB_DIR names, or else -Djava.io.tmpdir: let " +
      "that be one that is there, has room, and is not mounted noexec, and start the executors anew; or set " +
      s"${ConfigKey.Engine.key}=heap.",
    cause
  )
}
