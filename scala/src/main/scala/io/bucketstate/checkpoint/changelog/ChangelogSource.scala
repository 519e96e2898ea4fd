package io.bucketstate.checkpoint.changelog

import io.bucketstate.checkpoint.io.{ByteSlice, ReadableFile}

/** Where a reader takes a changelog's bytes from. */
private[checkpoint] trait ChangelogSource extends AutoCloseable {
  def length: Long

  /** So many bytes from `position` on; the caller has checked that they are within the file. */
  def slice(position: Long, count: Int): ByteSlice
}

private[checkpoint] object ChangelogSource {

  final class Whole(bytes: Array[Byte]) extends ChangelogSource {
    def length: Long = bytes.length.toLong
    def slice(position: Long, count: Int): ByteSlice = new ByteSlice(bytes, position.toInt, count)
    def close(): Unit = ()
  }

  final class Parts(file: ReadableFile) extends ChangelogSource {
    def length: Long = file.length
    def slice(position: Long, count: Int): ByteSlice =
      new ByteSlice(file.read(position, count), 0, count)
    def close(): Unit = file.close()
  }
}
