package io.bucketstate.testkit

import java.nio.file.{Files, Path}

/** Files that are not what was written any more. */
object Damage {

  /** Flips one bit of the byte in the middle. */
  def middleOf(file: Path): Unit = at(file, _.length / 2)

  /** The same of bytes that are in no file. */
  def inMiddle(of: Array[Byte]): Array[Byte] = flipped(of, of.length / 2)

  /** Flips one bit of the byte at a place. */
  def at(file: Path, place: Int): Unit = at(file, _ => place)

  private def at(file: Path, place: Array[Byte] => Int): Unit = {
    val bytes = Files.readAllBytes(file)
    Files.write(file, flipped(bytes, place(bytes)))
    ()
  }

  private def flipped(bytes: Array[Byte], place: Int): Array[Byte] =
    bytes.updated(place, (bytes(place) ^ 0x40).toByte)
}
