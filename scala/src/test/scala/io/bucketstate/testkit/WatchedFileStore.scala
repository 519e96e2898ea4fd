package io.bucketstate.testkit

import java.io.OutputStream
import java.nio.file.Path
import java.util.concurrent.ConcurrentHashMap

import io.bucketstate.checkpoint.io.{FileStore, ListedFile, ReadableFile}

/**
 * A file store that tells of each write, before it begins and after it is there, of each listing and of each file that is
 * to be opened, and counts what is open.
 */
final class WatchedFileStore(
    inner: FileStore,
    before: String => Unit = _ => (),
    after: String => Unit = _ => (),
    listing: String => Unit = _ => (),
    opening: String => Unit = _ => ()
) extends FileStore {
  private val opened = ConcurrentHashMap.newKeySet[ReadableFile]

  /** Files that were opened and not closed. */
  def openFiles: Int = opened.size

  def location: String = inner.location

  def write(name: String)(body: OutputStream => Unit): Unit = {
    before(name)
    inner.write(name)(body)
    after(name)
  }

  def read(name: String, length: Option[Long]): Array[Byte] = inner.read(name, length)

  def readPrefix(name: String, atMost: Int): Array[Byte] = inner.readPrefix(name, atMost)

  def open(name: String, length: Option[Long], inOrder: Boolean): ReadableFile = {
    opening(name)
    val file = inner.open(name, length, inOrder)
    val watched = new ReadableFile {
      def length: Long = file.length
      def read(position: Long, count: Int): Array[Byte] = file.read(position, count)
      def close(): Unit = {
        opened.remove(this)
        file.close()
      }
    }
    opened.add(watched)
    watched
  }

  def exists(name: String): Boolean = inner.exists(name)

  def list(folder: String): Seq[ListedFile] = {
    listing(folder)
    inner.list(folder)
  }

  def delete(name: String): Unit = inner.delete(name)

  def localPath(name: String): Option[Path] = inner.localPath(name)

  def createFolder(): Unit = inner.createFolder()

  def close(): Unit = inner.close()
}
