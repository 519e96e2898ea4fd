package io.bucketstate.checkpoint.io

import java.io.{FileOutputStream, IOException, OutputStream}
import java.nio.file.attribute.{BasicFileAttributes, PosixFilePermissions}
import java.nio.file.{
  FileVisitResult,
  Files,
  LinkOption,
  NoSuchFileException,
  Path,
  SimpleFileVisitor
}

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
) {

  /**
   * Makes it, unless it is there. One that outlives its store is for nobody else: what is found there later is believed.
   * Throws what the disk refuses.
   */
  private[bucketstate] def make(): Unit = {
    NioFileStore.makeFolder(path)
    val isGuarded = !temporary && path.getFileSystem.supportedFileAttributeViews.contains("posix")
    if (isGuarded && Files.getPosixFilePermissions(path) != WorkFolder.Own) {
      Files.setPosixFilePermissions(path, WorkFolder.Own)
      ()
    }
  }
}

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

  private val Own = PosixFilePermissions.fromString("rwx------")

  /** With all that is in it; does nothing if it is not there. Somebody else may delete it at the same time. */
  private[bucketstate] def deleteAll(folder: Path): Unit =
    StorageErrors.changing(folder.toString, "could not be deleted") {
      if (Files.exists(folder, LinkOption.NOFOLLOW_LINKS)) {
        Files.walkFileTree(folder, Deleting)
        ()
      }
    }

  private object Deleting extends SimpleFileVisitor[Path] {
    override def visitFile(file: Path, attributes: BasicFileAttributes): FileVisitResult =
      deleted(file)

    override def visitFileFailed(file: Path, cause: IOException): FileVisitResult = cause match {
      case _: NoSuchFileException => FileVisitResult.CONTINUE
      case other                  => throw other
    }

    override def postVisitDirectory(folder: Path, cause: IOException): FileVisitResult =
      cause match {
        case null | _: NoSuchFileException => deleted(folder)
        case other                         => throw other
      }

    private def deleted(path: Path): FileVisitResult = {
      Files.deleteIfExists(path)
      FileVisitResult.CONTINUE
    }
  }
}
