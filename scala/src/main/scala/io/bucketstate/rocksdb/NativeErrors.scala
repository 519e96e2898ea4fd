package io.bucketstate.rocksdb

import java.io.IOException
import java.nio.file.Path

import org.rocksdb.{RocksDBException, Status}

import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{CorruptException, InvalidException, UnavailableException}

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

  /** Runs `body`, which opens a database: there RocksDB also finds which options do not go together. */
  def opening[A](folder: Path)(body: => A): A =
    try body
    catch {
      case e: RocksDBException if isRefusal(e.getStatus) => throw refused(folder, e)
      case e: RocksDBException => throw failed(folder, "could not be opened", e)
    }

  /** Runs `body`, which makes links to the files of a database: it is of use without them. */
  def linking[A](folder: Path)(body: => A): A =
    try body
    catch {
      case e: RocksDBException =>
        throw new UnavailableException(
          folder.toString,
          s"the files of the local RocksDB database could not be linked: ${e.getMessage}",
          "The database goes on, and a restart begins with the checkpoint, or with what was left before. Make room on the " +
            s"disk of that folder, or set ${ConfigKey.LocalDir.key} to one on which files can be linked.",
          e
        )
    }

  private def isRefusal(status: Status): Boolean = status != null &&
    (status.getCode == Status.Code.InvalidArgument || status.getCode == Status.Code.NotSupported)

  private def refused(folder: Path, cause: RocksDBException): InvalidException =
    new InvalidException(
      s"RocksDB opens no database with the native options that are set: ${cause.getMessage} ($folder)",
      s"Correct the options below ${ConfigKey.RocksDbOptions.key} or what ${ConfigKey.RocksDbOptionsFactory.key} does, " +
        "or remove them to use the preset's.",
      cause
    )

  /** What a database holds cannot be read, and would not be the next time. */
  def unreadable(folder: Path, cause: RocksDBException): CorruptException = new CorruptException(
    folder.toString,
    s"the local RocksDB database could not be read: ${cause.getMessage}",
    Remedy,
    cause
  )

  /** Runs `body`, which writes where Java puts temporary files. */
  def temporary[A](body: => A): A = {
    val folder = System.getProperty("java.io.tmpdir")
    try body
    catch {
      case e: IOException =>
        throw new UnavailableException(
          folder,
          s"RocksDB's options could not be written there for RocksDB to read them: $e",
          "Make room there, or name another folder: -Djava.io.tmpdir in spark.executor.extraJavaOptions and " +
            s"spark.driver.extraJavaOptions; or set ${ConfigKey.Engine.key}=heap.",
          e
        )
    }
  }

  def failed(folder: Path, problem: String, cause: RocksDBException): UnavailableException =
    new UnavailableException(
      folder.toString,
      s"the local RocksDB database $problem: ${cause.getMessage}",
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
