package io.bucketstate.checkpoint.io

import java.io.{FileNotFoundException, IOException, OutputStream}
import java.nio.file.FileAlreadyExistsException
import java.util.{Arrays, Collections, UUID, WeakHashMap}

import scala.collection.mutable.ArrayBuffer
import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.fs.{
  FSDataInputStream,
  FSDataOutputStream,
  FSDataOutputStreamBuilder,
  FileSystem,
  Path
}
import org.apache.hadoop.util.functional.{FutureIO, RemoteIterators}

import io.bucketstate.error.UnavailableException

/**
 * A checkpoint folder in an object store: a file appears whole when it is closed, so it is written under
 * its own name, with one request, and never renamed. Nothing is looked for before or after. A write that
 * fails is aborted, and what a process that dies has sent of one is never a file.
 *
 * Where the client can, `writeNew` leaves it to the store to refuse a name that is taken. Whoever reads a file
 * while it is replaced may be told so by an `UnavailableException`, but never gets parts of both.
 *
 * @param system with abortable streams; shared, not closed here
 */
private[io] final class ObjectFileStore(
    system: FileSystem,
    folder: Path,
    newId: () => UUID = () => UUID.randomUUID()
) extends FileStore {
  import ObjectFileStore._
  import Requests.Kind

  override val requests: Requests = new Requests
  override val location: String = folder.toString

  private[this] val starts = new WrittenStarts
  private[this] val refuses =
    StorageErrors.changing(location, "could not be reached") {
      system.hasPathCapability(folder, ConditionalCreate)
    }

  override def write(name: String)(body: OutputStream => Unit): Unit = {
    starts.keeping(name, body)(put(name, onlyNew = false)(_))
    ()
  }

  override def writeNew(name: String)(body: OutputStream => Unit): Boolean =
    put(name, onlyNew = refuses)(body)

  override def refusesTaken: Boolean = refuses && {
    val known = Refusing.get(system)
    if (known != null) known
    else {
      val answer = refusesOne()
      Refusing.put(system, answer)
      answer
    }
  }

  /** Whether it refuses the second of two files of one name. What stays of them retention deletes. */
  private def refusesOne(): Boolean = {
    val name = TemporaryName("refused", newId()).name
    put(name, onlyNew = false)(_.write(1))
    val isRefused = !put(name, onlyNew = true)(_.write(2))
    deleteAll(Seq(name))
    isRefused
  }

  override def read(name: String, length: Option[Long]): Array[Byte] =
    reading(name) { path =>
      // One more than there should be: that it is not there says that this was all.
      var most = atMost(length.getOrElse(SmallFile) + 1)
      var bytes = firstBytes(path, most)
      length.filter(_ > bytes.length).foreach { expected =>
        throw new IOException(s"ended after ${bytes.length} bytes of $expected")
      }
      while (bytes.length == most && most < MaxArray) {
        most = atMost(most * 8L)
        bytes = firstBytes(path, most)
      }
      if (bytes.length == most) throw new IOException(s"has more than $most bytes")
      bytes
    }

  override def readPrefix(name: String, atMost: Int): Array[Byte] =
    starts.of(name, atMost).getOrElse(reading(name)(firstBytes(_, atMost)))

  /** Where the length is not known, a small file is read at once, which tells it as well. */
  override def open(name: String, length: Option[Long], inOrder: Boolean): ReadableFile =
    length match {
      case Some(known) => opened(name, known, inOrder)
      case None        =>
        val start = readPrefix(name, SmallFile.toInt + 1)
        if (start.length <= SmallFile) new InMemory(resolve(name).toString, start)
        else opened(name, lengthOf(name), inOrder)
    }

  override def exists(name: String): Boolean = {
    val path = resolve(name)
    StorageErrors.translate(path.toString, "could not be looked up") {
      requests.count(Kind.Head)
      system.exists(path)
    }
  }

  override def list(inside: String): Seq[ListedFile] = {
    val path = resolve(inside)
    StorageErrors.translate(path.toString, "could not be listed") {
      requests.count(Kind.List)
      try
        RemoteIterators
          .toList(system.listStatusIterator(path))
          .asScala
          .toSeq
          .flatMap(HadoopReads.listed(inside, path, _))
      catch { case _: FileNotFoundException => Nil }
    }
  }

  /** With one list of names: an object store has no folders. */
  override def listAll(): Seq[ListedFile] =
    StorageErrors.translate(location, "could not be listed") {
      requests.count(Kind.List)
      val found =
        try RemoteIterators.toList(system.listFiles(folder, true)).asScala.toSeq
        catch { case _: FileNotFoundException => Nil }
      val start = folder.toUri.getPath + "/"
      found.flatMap { file =>
        val inside =
          file.getPath.getParent.toUri.getPath.concat("/").stripPrefix(start).stripSuffix("/")
        Option
          .when(CheckpointFiles.Folders.contains(inside))(HadoopReads.listed(inside, folder, file))
          .flatten
      }
    }

  override def isObjectStore: Boolean = true

  override def delete(name: String): Unit =
    deleteAll(Seq(name)).foreach { case (_, failure) => throw failure }

  /** No folder is looked after: an object store has none. */
  override def deleteAll(names: Seq[String]): Seq[(String, UnavailableException)] = {
    val failed = ArrayBuffer.empty[(String, UnavailableException)]
    starts.forget(names)
    if (names.nonEmpty) {
      try
        Using.resource(system.createBulkDelete(folder)) { bulk =>
          names.grouped(bulk.pageSize).foreach { page =>
            requests.count(Kind.Delete)
            val byPath = page.map(name => resolve(name) -> name).toMap
            failing(page, failed) {
              bulk.bulkDelete(byPath.keySet.asJava).asScala.foreach { failure =>
                failed += byPath(failure.getKey) -> notDeleted(
                  failure.getKey.toString,
                  new IOException(failure.getValue)
                )
              }
            }
          }
        }
      catch {
        case e: IOException => return names.map(n => n -> notDeleted(resolve(n).toString, e))
      }
    }
    failed.toSeq
  }

  override def localPath(name: String): Option[java.nio.file.Path] = None

  /** There is nothing to make. */
  override def createFolder(): Unit = ()

  override def close(): Unit = ()

  private def resolve(name: String): Path = if (name.isEmpty) folder else new Path(folder, name)

  /** False if the store has a file of that name, and refuses another. */
  private def put(name: String, onlyNew: Boolean)(body: OutputStream => Unit): Boolean = {
    val path = resolve(name)
    StorageErrors.changing(path.toString, "could not be written") {
      val out = created(path, onlyNew)
      var isClosing = false
      try {
        body(out)
        requests.count(Kind.Put)
        isClosing = true
        out.close()
        true
      } catch {
        case refused: IOException if onlyNew && isClosing && isRefusal(refused) => false
        case failure: Throwable                                                 =>
          try {
            out.abort()
            ()
          } catch { case NonFatal(second) => failure.addSuppressed(second) }
          throw failure
      }
    }
  }

  private def created(path: Path, onlyNew: Boolean): FSDataOutputStream =
    built(system.createFile(path), onlyNew)

  private def built[S <: FSDataOutputStream, B <: FSDataOutputStreamBuilder[S, B]](
      builder: FSDataOutputStreamBuilder[S, B],
      onlyNew: Boolean
  ): FSDataOutputStream = {
    builder.recursive()
    builder.overwrite(!onlyNew)
    builder.opt(CreateWithoutProbes, true)
    if (onlyNew) builder.must(ConditionalCreate, true)
    builder.build()
  }

  private def reading[A](name: String)(body: Path => A): A = {
    val path = resolve(name)
    StorageErrors.translate(path.toString, "could not be read")(body(path))
  }

  /** With one request: the client takes the file to be no longer. */
  private def firstBytes(path: Path, count: Int): Array[Byte] = {
    requests.count(Kind.Get)
    Using.resource(input(path, count.toLong, WholeFile))(HadoopReads.upTo(_, count))
  }

  private def opened(name: String, length: Long, inOrder: Boolean): ReadableFile =
    reading(name) { path =>
      val in = input(path, length, if (inOrder) WholeFile else RandomAccess)
      var isFirst = true
      new HadoopFile(
        path.toString,
        length,
        in,
        () => {
          if (isFirst || !inOrder) requests.count(Kind.Get)
          isFirst = false
        }
      )
    }

  /** @param length as far as it is to be read: what the client is told it need not ask for */
  private def input(path: Path, length: Long, policy: String): FSDataInputStream =
    FutureIO.awaitFuture(
      system
        .openFile(path)
        .opt(FileLength, length.toString)
        .opt(ReadPolicy, policy)
        .build()
    )

  private def lengthOf(name: String): Long = reading(name) { path =>
    requests.count(Kind.Head)
    system.getFileStatus(path).getLen
  }

  private def failing(
      page: Seq[String],
      failed: ArrayBuffer[(String, UnavailableException)]
  )(body: => Unit): Unit =
    try body
    catch {
      case e: IOException =>
        failed ++= page.map(name => name -> notDeleted(resolve(name).toString, e))
        ()
    }

  private def notDeleted(path: String, cause: IOException): UnavailableException =
    StorageErrors.unavailable(path, "could not be deleted", cause)
}

private object ObjectFileStore {

  // As strings: no class of a client is needed to name its options.
  private final val CreateWithoutProbes = "fs.s3a.create.performance"
  private final val ConditionalCreate = "fs.option.create.conditional.overwrite"
  private final val FileLength = "fs.option.openfile.length"
  private final val ReadPolicy = "fs.option.openfile.read.policy"
  private final val WholeFile = "whole-file"
  private final val RandomAccess = "random"

  /** What was found out of storages, by their clients, which the stores of a process share. */
  private val Refusing =
    Collections.synchronizedMap(new WeakHashMap[FileSystem, java.lang.Boolean])

  /** So much is read where the length is not known, and more only if there is more. */
  private final val SmallFile = 64L * 1024

  private final val MaxArray = Int.MaxValue - 8

  private def atMost(count: Long): Int = math.min(count, MaxArray.toLong).toInt

  /** S3A calls it a file that has changed, which is a class of its own. */
  private def isRefusal(failure: IOException): Boolean = failure match {
    case _: FileAlreadyExistsException                      => true
    case _: org.apache.hadoop.fs.FileAlreadyExistsException => true
    case e => e.getClass.getSimpleName == "RemoteFileChangedException"
  }

  /** A file that was read when it was opened. */
  private final class InMemory(path: String, bytes: Array[Byte]) extends ReadableFile {
    override val length: Long = bytes.length.toLong

    override def read(position: Long, count: Int): Array[Byte] =
      if (position + count > length) throw StorageErrors.tooShort(path, position, count, null)
      else Arrays.copyOfRange(bytes, position.toInt, position.toInt + count)

    override def close(): Unit = ()
  }
}
