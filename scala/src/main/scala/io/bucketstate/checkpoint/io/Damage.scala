package io.bucketstate.checkpoint.io

import io.bucketstate.error.CorruptException

/**
 * Reports what is wrong with one file, always naming the file and the version it is of.
 *
 * @param path   the file as users find it
 * @param what   what it should be, such as "changelog of version 17"
 * @param remedy what to do about it
 */
private[bucketstate] final class Damage(
    path: String,
    what: String,
    remedy: String = Damage.Remedy
) {

  def apply(problem: String, cause: Throwable = null): CorruptException =
    new CorruptException(path, s"$what: $problem", remedy, cause)

  def mismatch(name: String, expected: Any, found: Any): CorruptException =
    apply(s"expected $name $expected, found $found")

  def newer(supported: Int, found: Int): CorruptException = new CorruptException(
    path,
    s"$what: expected format version $supported or older, found $found, " +
      "it was written by a newer bucketstate",
    "Upgrade bucketstate on the driver and all executors.",
    isNewer = true
  )

  /** Decodes a part whose checksum was right, so that nonsense in it is reported as damage too. */
  def guard[A](part: String)(decode: => A): A =
    try decode
    catch {
      case e @ (_: java.nio.BufferUnderflowException | _: IllegalArgumentException |
          _: IndexOutOfBoundsException) =>
        throw apply(s"the $part cannot be decoded", e)
    }
}

private[bucketstate] object Damage {
  val Remedy: String =
    "Restore the file from a backup of the checkpoint; if there is none, restart the query with a " +
      "new checkpoint location."
}
