package io.bucketstate.checkpoint.io

import java.io.OutputStream
import java.nio.file.Path

import io.bucketstate.error.UnavailableException

/** A file opened for positioned reading. Safe for several threads. */
trait ReadableFile extends AutoCloseable {

  /** Length in bytes. */
  def length: Long

  /** Reads exactly `count` bytes at `position`, or fails with `CorruptException` (file too short). */
  def read(position: Long, count: Int): Array[Byte]
}

/**
 * A file as listed.
 *
 * @param name       relative to the store's folder, so that it can be read or deleted as it stands
 * @param length     in bytes
 * @param modifiedAt epoch milliseconds
 */
final case class ListedFile(name: String, length: Long, modifiedAt: Long)

/**
 * One store's checkpoint folder. Names are relative to it, with `/` between folders.
 *
 * What every implementation guarantees, and one suite checks of all of them:
 *
 *  1. ''Atomic write.'' `write` makes the whole file visible under its name at once or not at all,
 *     whatever instruction the process dies at.
 *  1. ''Failed writes leave nothing.'' If `body` or the storage fails, `write` throws, the name is
 *     what it was before, and at most a temporary file stays, whose name `CheckpointFiles` knows.
 *  1. ''Last writer wins.'' Writing an existing name replaces it atomically; readers that already
 *     opened the old file may go on reading it.
 *  1. ''Read after write.'' What a finished `write` wrote is what the next `open` or `read` sees.
 *  1. ''Missing is an error of its own.'' Opening a name that does not exist throws
 *     `MissingException`; any other failure of the storage throws `UnavailableException`.
 *  1. ''Whole or nothing.'' A read returns all the bytes asked for or throws; never fewer.
 *  1. ''Delete is idempotent.'' Deleting a name that does not exist succeeds.
 *  1. ''List'' returns the files (not folders) directly inside a folder, temporary ones included, in
 *     no particular order; a folder that does not exist is empty. The `.name.crc` companions of
 *     Hadoop's local file system are not files of the store: never listed, and they never make a
 *     file unreadable that this store wrote.
 *  1. ''Folders appear when needed.'' Writing `runs/x` makes the folder `runs` if it is not there.
 *  1. ''Local or not is a fixed answer.'' `localPath` is where this machine's own disk has, or would
 *     have, the file, so that a library which opens plain files can read it without a copy; or it is
 *     `None` for every name of this store. It asks the storage nothing, and the path is for reading
 *     only.
 *  1. ''A finished local file may be moved in.'' `moveIn` gives a local file its name in the store as
 *     `write` would have, with guarantees 1 to 4, without copying it; or it returns false and has changed
 *     nothing, because this store, or the disk the file lies on, does not allow that.
 *
 * Safe for several threads.
 */
trait FileStore extends AutoCloseable {

  /** The folder, as users write it; for messages. */
  def location: String

  def write(name: String)(body: OutputStream => Unit): Unit

  /**
   * Writes a file that is to be new. False if the storage refused it because there is a file of that name:
   * then that one is as it was. It may be this very one all the same, where an answer of the storage got
   * lost and the request was made again. A storage that cannot refuse writes as `write` does.
   */
  def writeNew(name: String)(body: OutputStream => Unit): Boolean = {
    write(name)(body)
    true
  }

  /**
   * Whether the storage itself lets `writeNew` replace no file, as a try has shown: where a client only says so, it may be
   * of another mind. The same for all who use that storage. Asks it at most once in a process, and throws
   * `UnavailableException` when it does not answer.
   */
  def refusesTaken: Boolean = false

  /** Makes a whole local file the file of this name, if that needs no copy; false if it does. */
  def moveIn(name: String, from: Path): Boolean = false

  /**
   * The whole file.
   *
   * @param length in bytes, where the caller knows it, which saves an object store a request; a file that
   *               has another is read all the same
   */
  def read(name: String, length: Option[Long] = None): Array[Byte]

  /**
   * The first `atMost` bytes, or all of a shorter file. Costs one open and one small read, where
   * `open` may need another call to learn the length.
   */
  def readPrefix(name: String, atMost: Int): Array[Byte]

  /**
   * @param length  in bytes, where the caller knows it, which saves an object store a request. Then a file
   *                that is missing may be found out by the first read, and one that is shorter by a read
   *                past its end.
   * @param inOrder whether it is read from its beginning to its end: one request instead of one for each read
   */
  def open(name: String, length: Option[Long] = None, inOrder: Boolean = false): ReadableFile

  /** False only where the storage says that there is none: what it cannot tell is an `UnavailableException`. */
  def exists(name: String): Boolean

  def list(folder: String = ""): Seq[ListedFile]

  def delete(name: String): Unit

  /** Deletes all of these, with few requests where that can be; what could not be deleted, and why. */
  def deleteAll(names: Seq[String]): Seq[(String, UnavailableException)] = names.flatMap { name =>
    try {
      delete(name)
      None
    } catch { case e: UnavailableException => Some(name -> e) }
  }

  /** Where the file lies on this machine's disk, whether it exists or not. */
  def localPath(name: String): Option[Path]

  /** Makes the store's folder if it is not there yet. */
  def createFolder(): Unit

  /** The files of all of a store's folders. */
  def listAll(): Seq[ListedFile] = CheckpointFiles.Folders.flatMap(list)

  /** Whether each call is a request, which takes its time and is paid for. */
  def isObjectStore: Boolean = false

  /** What this store has asked of an object store; nothing where it is none. */
  def requests: Requests = Requests.None
}
