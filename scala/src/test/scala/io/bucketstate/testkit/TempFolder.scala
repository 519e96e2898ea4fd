package io.bucketstate.testkit

import java.nio.file.{DirectoryNotEmptyException, Files, NoSuchFileException, Path}
import java.util.Comparator

import scala.annotation.tailrec

object TempFolder {

  /** Runs `body` in a new folder and deletes it with all that is in it. */
  def use[A](body: Path => A): A = {
    val folder = Files.createTempDirectory("bucketstate")
    try body(folder)
    finally delete(folder)
  }

  def delete(folder: Path): Unit = delete(folder, Tries)

  /** What still works in the background of a store that a test left open may make and delete files meanwhile. */
  @tailrec
  private def delete(folder: Path, tries: Int): Unit = {
    val isDone =
      try {
        val all = Files.walk(folder)
        try all.sorted(Comparator.reverseOrder[Path]()).forEach(p => Files.delete(p))
        finally all.close()
        true
      } catch {
        case _: DirectoryNotEmptyException | _: NoSuchFileException if tries > 0 => false
        case e: java.io.UncheckedIOException if tries > 0 && isGone(e.getCause)  => false
      }
    if (!isDone) delete(folder, tries - 1)
  }

  private def isGone(cause: Throwable): Boolean = cause.isInstanceOf[NoSuchFileException]

  private final val Tries = 20
}
