package io.bucketstate.checkpoint.run

import java.io.{FileOutputStream, OutputStream}
import java.nio.file.{Files, Path}
import java.util.Comparator

import scala.util.Using

import io.bucketstate.checkpoint.io.StorageErrors

/**
 * Where a store keeps its working files.
 *
 * @param temporary whether the folder is this provider's alone and goes with it
 * @param create    makes a file in it
 */
final case class WorkFolder(
    path: Path,
    temporary: Boolean,
    create: Path => OutputStream = WorkFolder.NewFile
)

object WorkFolder {
  val NewFile: Path => OutputStream = path => new FileOutputStream(path.toFile)

  /** A folder of its own, which `make` makes; where it cannot, that is an `UnavailableException`. */
  private[bucketstate] def ofItsOwn(make: => Path): WorkFolder = {
    val folder = StorageErrors.working("A local working folder", "could not be created")(make)
    WorkFolder(folder, temporary = true)
  }

  /** Runs `body`, which writes there; what the disk refuses is an `UnavailableException` that says what to do. */
  private[checkpoint] def writing[A](file: Path)(body: => A): A =
    StorageErrors.working(file.toString, "could not be written")(body)

  /** With all that is in it; does nothing if it is not there. */
  private[bucketstate] def deleteAll(folder: Path): Unit =
    StorageErrors.changing(folder.toString, "could not be deleted") {
      if (Files.exists(folder)) {
        Using.resource(Files.walk(folder)) { all =>
          all.sorted(Comparator.reverseOrder[Path]()).forEach { path =>
            Files.deleteIfExists(path)
            ()
          }
        }
      }
    }
}
