package io.bucketstate.checkpoint.io

import java.io.{EOFException, IOException, InputStream}
import java.util.Arrays

import org.apache.hadoop.fs.{FSDataInputStream, FileStatus, Path}

/** What is the same for all that is read through Hadoop. */
private[io] object HadoopReads {

  /** The next `atMost` bytes, or all up to the end. */
  def upTo(in: InputStream, atMost: Int): Array[Byte] = {
    var bytes = new Array[Byte](math.min(atMost, 64 * 1024))
    var used = 0
    var ended = false
    while (!ended && used < atMost) {
      if (used == bytes.length) {
        bytes = Arrays.copyOf(bytes, math.min(atMost.toLong, used.toLong * 2).toInt)
      }
      val n = in.read(bytes, used, bytes.length - used)
      if (n < 0) ended = true else used += n
    }
    if (used == bytes.length) bytes else Arrays.copyOf(bytes, used)
  }

  /** Where a file is replaced while it is read, HDFS's client may trip over its own arithmetic. */
  def mayBeReplaced[A](body: => A): A =
    try body
    catch { case e: IllegalStateException => throw new IOException(e.toString, e) }

  /** A file that was found in a folder, unless it is none of the store's. */
  def listed(inside: String, folder: Path, found: FileStatus): Option[ListedFile] = {
    val name = found.getPath.getName
    Option.when(found.isFile && found.getPath != folder && !NioFileStore.isChecksum(name)) {
      val full = if (inside.isEmpty) name else s"$inside/$name"
      ListedFile(full, found.getLen, found.getModificationTime)
    }
  }
}

/** @param reading told of each read before it is made */
private[io] final class HadoopFile(
    path: String,
    val length: Long,
    in: FSDataInputStream,
    reading: () => Unit = () => ()
) extends ReadableFile {

  def read(position: Long, count: Int): Array[Byte] =
    StorageErrors.translate(path, "could not be read") {
      reading()
      val bytes = new Array[Byte](count)
      try HadoopReads.mayBeReplaced(in.readFully(position, bytes, 0, count))
      catch { case e: EOFException => throw StorageErrors.tooShort(path, position, count, e) }
      bytes
    }

  def close(): Unit = in.close()
}
