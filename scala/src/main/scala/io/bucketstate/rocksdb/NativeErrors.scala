package io.bucketstate.rocksdb

import java.io.IOException
import java.nio.file.Path

import org.rocksdb.RocksDBException

import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{CorruptException, UnavailableException}

/** What RocksDB reports, told in the project's own terms. */
private[bucketstate] object NativeErrors {

  /** What to do when the local disk, or what RocksDB makes of it, is in the way. */
  private val Remedy: String =
    s"Nothing is lost, the state is in the checkpoint, and the next attempt makes a new database of it. If it fails " +
      s"again, make room on the disk of that folder, or set ${ConfigKey.LocalDir.key} (spark.local.dir, where that " +
      s"is '${ConfigKey.LocalDir.default}') to one that has more, or ${ConfigKey.Engine.key}=heap."

  /** Runs `body`, which uses the database in a folder. */
  def translate[A](folder: Path, problem: String)(body: => A): A =
    try body
    catch { case e: RocksDBException => throw failed(folder, problem, e) }

  /** Runs `body`, which writes in a folder beside RocksDB. */
  def writing[A](folder: Path, problem: String)(body: => A): A =
    try body
    catch {
      case e: IOException =>
        throw new UnavailableException(folder.toString, s"$problem: $e", Remedy, e)
    }

  def failed(folder: Path, problem: String, cause: RocksDBException): UnavailableException =
    new UnavailableException(
      folder.toString,
      s"the local RocksDB database $problem: ${cause.getMessage}",
      Remedy,
      cause
    )

  /** What is in its files is of no use, or they are gone. */
  def unreadable(folder: Path, cause: RocksDBException): CorruptException =
    new CorruptException(
      folder.toString,
      s"the local RocksDB database could not be read: ${cause.getMessage}",
      Remedy,
      cause
    )

  /** Somebody still reads from a database that its store has closed. */
  def closed(folder: Path): UnavailableException =
    new UnavailableException(
      folder.toString,
      "the local RocksDB database was closed: its store was unloaded, or loaded anew after a failure",
      "The task is tried again, and opens the version that it needs."
    )
}
