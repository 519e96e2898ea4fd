package io.bucketstate.bench

import java.io.UncheckedIOException
import java.nio.file.attribute.BasicFileAttributes
import java.nio.file.{Files, NoSuchFileException, Path}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using

/** Bytes and files of a folder. */
final case class FolderSize(bytes: Long, files: Int)

/**
 * Adds up what was written to a folder. Looked at after every batch, so that a file which is deleted
 * later counts all the same; a file that was replaced counts again. Temporary files do not count:
 * they are renamed, or they are gone.
 */
final class Footprint(folder: Path) {
  private val seen = mutable.Map.empty[Path, (Long, Long)]
  private var totalFiles = 0L

  def files: Long = totalFiles

  /** The bytes written since the last look. */
  def look(): Long = {
    var bytes = 0L
    for ((path, size, modified) <- walk() if !seen.get(path).contains((size, modified))) {
      seen(path) = (size, modified)
      bytes += size
      totalFiles += 1
    }
    bytes
  }

  /** What is in the folder now. */
  def current(): FolderSize = {
    val there = walk()
    FolderSize(there.iterator.map(_._2).sum, there.size)
  }

  /** Background work may remove files under the walk's feet: the next look sees what is left. */
  private def walk(): Seq[(Path, Long, Long)] =
    try
      Using.resource(Files.walk(folder)) { paths =>
        paths.iterator.asScala.filterNot(_.toString.endsWith(".tmp")).flatMap(describe).toList
      }
    catch { case e: UncheckedIOException if e.getCause.isInstanceOf[NoSuchFileException] => Nil }

  private def describe(path: Path): Option[(Path, Long, Long)] =
    try {
      val attributes = Files.readAttributes(path, classOf[BasicFileAttributes])
      Option.when(attributes.isRegularFile) {
        (path, attributes.size, attributes.lastModifiedTime.toMillis)
      }
    } catch { case _: NoSuchFileException => None }
}
