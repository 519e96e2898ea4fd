package io.bucketstate.testkit

import java.nio.file.{Files, Path}
import java.util.Comparator

object TempFolder {

  /** Runs `body` in a new folder and deletes it with all that is in it. */
  def use[A](body: Path => A): A = {
    val folder = Files.createTempDirectory("bucketstate")
    try body(folder)
    finally {
      val all = Files.walk(folder)
      try all.sorted(Comparator.reverseOrder[Path]()).forEach(p => Files.delete(p))
      finally all.close()
    }
  }
}
