package io.bucketstate.bench

import java.net.URI
import java.util.concurrent.atomic.LongAdder

import org.apache.hadoop.fs.permission.FsPermission
import org.apache.hadoop.fs.{
  FSDataInputStream,
  FSDataOutputStream,
  FileStatus,
  Path,
  RawLocalFileSystem
}
import org.apache.hadoop.util.Progressable

/**
 * The local disk under a scheme of its own, so that no provider takes it for a local folder and all go
 * the way they would go to an object store. Counts what callers ask for, not what one call does inside.
 */
class CountedFileSystem extends RawLocalFileSystem {
  import CountedFileSystem._

  override def getScheme: String = scheme

  override def getUri: URI = URI.create(s"$scheme:///")

  override def open(path: Path, bufferSize: Int): FSDataInputStream =
    counting(Call.Open)(super.open(path, bufferSize))

  override def create(
      path: Path,
      permission: FsPermission,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = counting(Call.Create) {
    super.create(path, permission, overwrite, bufferSize, replication, blockSize, progress)
  }

  override def create(
      path: Path,
      overwrite: Boolean,
      bufferSize: Int,
      replication: Short,
      blockSize: Long,
      progress: Progressable
  ): FSDataOutputStream = counting(Call.Create) {
    super.create(path, overwrite, bufferSize, replication, blockSize, progress)
  }

  override def rename(from: Path, to: Path): Boolean =
    counting(Call.Rename)(super.rename(from, to))

  override def delete(path: Path, recursive: Boolean): Boolean =
    counting(Call.Delete)(super.delete(path, recursive))

  override def listStatus(path: Path): Array[FileStatus] =
    counting(Call.List)(super.listStatus(path))

  override def getFileStatus(path: Path): FileStatus =
    counting(Call.Status)(super.getFileStatus(path))

  override def exists(path: Path): Boolean =
    counting(Call.Status)(super.exists(path))

  override def mkdirs(path: Path, permission: FsPermission): Boolean =
    counting(Call.Mkdirs)(super.mkdirs(path, permission))

  override def mkdirs(path: Path): Boolean =
    counting(Call.Mkdirs)(super.mkdirs(path))
}

object CountedFileSystem {
  val scheme: String = "counted"

  object Call extends Enumeration {
    val Create, Rename, Open, List, Status, Delete, Mkdirs = Value
  }

  private val adders = Call.values.toSeq.map(_ -> new LongAdder).toMap
  private val depth: ThreadLocal[Int] = ThreadLocal.withInitial(() => 0)

  def counts(): Map[String, Long] = adders.map { case (call, adder) =>
    call.toString.toLowerCase -> adder.sum
  }

  private def counting[T](call: Call.Value)(body: => T): T = {
    val outer = depth.get
    if (outer == 0) adders(call).increment()
    depth.set(outer + 1)
    try body
    finally depth.set(outer)
  }
}
