package io.bucketstate.testkit

import java.io.OutputStream
import java.nio.file.Path

import io.bucketstate.checkpoint.io.{FileStore, ListedFile, ReadableFile}

/** A file store that tells of each write, before it begins and after it is there, and of each file that is to be opened. */
final class WatchedFileStore(
    inner: FileStore,
    before: String => Unit = _ => (),
    after: String => Unit = _ => (),
    opening: String => Unit = _ => ()
) extends FileStore {

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
    inner.open(name, length, inOrder)
  }

  def exists(name: String): Boolean = inner.exists(name)

  def list(folder: String): Seq[ListedFile] = inner.list(folder)

  def delete(name: String): Unit = inner.delete(name)

  def localPath(name: String): Option[Path] = inner.localPath(name)

  def createFolder(): Unit = inner.createFolder()

  def close(): Unit = inner.close()
}
