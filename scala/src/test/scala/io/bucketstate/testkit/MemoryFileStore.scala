package io.bucketstate.testkit

import java.io.{ByteArrayOutputStream, IOException, OutputStream}
import java.nio.file.Path
import java.time.Clock

import scala.collection.concurrent.TrieMap

import io.bucketstate.checkpoint.io.{FileStore, ListedFile, ReadableFile}
import io.bucketstate.error.{CorruptException, MissingException, UnavailableException}

/** A checkpoint folder in a map, for tests that look at bytes or need many files fast. */
final class MemoryFileStore(clock: Clock = Clock.systemUTC()) extends FileStore {
  private val files = TrieMap.empty[String, (Array[Byte], Long)]

  val location = "memory:"

  def write(name: String)(body: OutputStream => Unit): Unit = {
    val out = new ByteArrayOutputStream
    try body(out)
    catch { case e: IOException => throw new UnavailableException(name, e.toString, "", e) }
    files.put(name, (out.toByteArray, clock.millis()))
    ()
  }

  def put(name: String, bytes: Array[Byte]): Unit = write(name)(_.write(bytes))

  def read(name: String, length: Option[Long]): Array[Byte] = bytesOf(name).clone()

  def readPrefix(name: String, atMost: Int): Array[Byte] = bytesOf(name).take(atMost)

  def open(name: String, length: Option[Long], inOrder: Boolean): ReadableFile = {
    val bytes = bytesOf(name)
    new ReadableFile {
      def length: Long = bytes.length.toLong
      def read(position: Long, count: Int): Array[Byte] =
        if (position + count > bytes.length) throw new CorruptException(name, "too short", "")
        else bytes.slice(position.toInt, position.toInt + count)
      def close(): Unit = ()
    }
  }

  def exists(name: String): Boolean = files.contains(name)

  def list(folder: String): Seq[ListedFile] = {
    val prefix = if (folder.isEmpty) "" else s"$folder/"
    files.iterator.collect {
      case (name, (bytes, at)) if name.startsWith(prefix) && name.indexOf('/', prefix.length) < 0 =>
        ListedFile(name, bytes.length.toLong, at)
    }.toSeq
  }

  def delete(name: String): Unit = {
    files.remove(name)
    ()
  }

  def localPath(name: String): Option[Path] = None

  def createFolder(): Unit = ()

  def close(): Unit = ()

  private def bytesOf(name: String): Array[Byte] =
    files.getOrElse(name, throw new MissingException(name, "it was never written", ""))._1
}
