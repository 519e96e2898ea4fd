package io.bucketstate.testkit

import java.io.IOException
import java.nio.file.attribute.BasicFileAttributes
import java.nio.file.{FileVisitResult, Files, Path, SimpleFileVisitor}

import scala.collection.mutable

/** A folder that somebody works in. */
object LiveFolder {

  /** All that lies below it now; what goes meanwhile may be among it or not. */
  def paths(folder: Path): Seq[Path] = {
    val found = mutable.ArrayBuffer.empty[Path]
    Files.walkFileTree(
      folder,
      new SimpleFileVisitor[Path] {
        override def preVisitDirectory(path: Path, of: BasicFileAttributes): FileVisitResult =
          add(path)
        override def visitFile(path: Path, of: BasicFileAttributes): FileVisitResult = add(path)
        override def visitFileFailed(path: Path, why: IOException): FileVisitResult =
          FileVisitResult.CONTINUE
        override def postVisitDirectory(path: Path, why: IOException): FileVisitResult =
          FileVisitResult.CONTINUE

        private def add(path: Path) = {
          found += path
          FileVisitResult.CONTINUE
        }
      }
    )
    found.toSeq
  }

  /** The names of those. */
  def names(folder: Path): Seq[String] = paths(folder).map(_.getFileName.toString)
}
