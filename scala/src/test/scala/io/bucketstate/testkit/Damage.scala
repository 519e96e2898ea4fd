package io.bucketstate.testkit

import java.nio.file.{Files, Path}

/** Files that are not what was written any more. */
object Damage {

  /** Flips one bit of the byte in the middle. */
  def middleOf(file: Path): Unit = at(file, _.length / 2)

  /** Flips one bit of the byte at a place. */
  def at(file: Path, place: Int): Unit = at(file, _ => place)

  private def at(file: Path, place: Array[Byte] => Int): Unit = {
    val bytes = Files.readAllBytes(file)
    val i = place(bytes)
    bytes(i) = (bytes(i) ^ 0x40).toByte
    Files.write(file, bytes)
    ()
  }
}
