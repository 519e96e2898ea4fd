package io.bucketstate.checkpoint.run

import java.nio.file.{Files, Path}

import org.rocksdb.{RocksDBException, Status}

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.error.{BucketstateException, MissingException, UnavailableException}

/** What RocksDB reports about a file, told in the project's own terms. */
private[checkpoint] object SstErrors {

  /** Runs `body`, which reads the file that `damage` speaks of. */
  def reading[A](path: String, damage: Damage)(body: => A): A =
    try body
    catch { case e: RocksDBException => throw translated(path, damage, e) }

  def writing[A](path: String)(body: => A): A =
    try body
    catch { case e: RocksDBException => throw unavailable(path, "could not be written", e) }

  private def translated(path: String, damage: Damage, e: RocksDBException): BucketstateException =
    if (!Option(e.getStatus).exists(_.getCode == Status.Code.IOError)) {
      damage(s"RocksDB says '${e.getMessage}'", e)
    } else if (Files.exists(Path.of(path))) unavailable(path, "could not be read", e)
    else new MissingException(path, s"it is gone (${e.getMessage})", Damage.Remedy, e)

  private def unavailable(path: String, problem: String, e: RocksDBException) =
    new UnavailableException(
      path,
      s"$problem: ${e.getMessage}",
      "Check that this folder's disk is readable, writable and not full; the same work is tried again.",
      e
    )
}
