package io.bucketstate.checkpoint.run.read

import java.nio.file.Path
import java.time.Clock

import io.bucketstate.checkpoint.io.{FileStore, WorkFolder}
import io.bucketstate.checkpoint.run.open.{ReadLimits, SharedReads, StoreReads}
import io.bucketstate.checkpoint.run.write.RunWriter
import io.bucketstate.checkpoint.run.{ColdReads, LocalRuns, RunFile}
import io.bucketstate.checkpoint.sst.SstOptions

/**
 * All that a store needs to read and write runs, made when it is first used: a store that neither
 * starts from a snapshot nor makes one makes no folder. Thread-safe.
 *
 * After `close` nothing can be opened; what is open then stays usable until it is closed itself.
 *
 * @param limits of all stores of the process, as this one sees them
 */
final class RunAccess(
    folder: FileStore,
    options: SstOptions,
    newFolder: () => WorkFolder,
    maxFileBytes: Long,
    clock: Clock = Clock.systemUTC(),
    limits: ReadLimits = ReadLimits.None
) extends AutoCloseable {
  private[this] var opened: Opened = _
  private[this] var closed = false
  private[this] var isWritten = false

  /** The store is written to: its limits count for all. */
  def writing(): Unit = synchronized {
    isWritten = true
    Option(opened).foreach(_.reads.writing())
  }

  def readers: RunReaders = parts.readers

  def writer: RunWriter = parts.writer

  /** Gives a file that was verified whole a second name on this machine, for whoever takes it over. */
  def link(file: RunFile, target: Path): Unit = parts.local.link(file, target)

  /** Gives up the files that are not among these, and their local copies. */
  def retain(names: Set[String]): Unit =
    synchronized(Option(opened)).foreach { parts =>
      parts.readers.retain(names)
      parts.local.retain(names)
    }

  /** Heap that is kept of open files so that look-ups in them are quick, in bytes. */
  def heapBytes: Long = synchronized(Option(opened)).fold(0L)(_.readers.heapBytes)

  /** Look-ups of single keys since the last call. */
  def drain(): ColdReads = synchronized(Option(opened)).fold(ColdReads.None)(_.readers.drain())

  /** Gives that up, where nothing is looked up any more; a look-up reads it again. */
  def shed(): Unit = synchronized(Option(opened)).foreach(_.readers.shed())

  def close(): Unit = synchronized {
    if (!closed) {
      closed = true
      Option(opened).foreach(_.close())
    }
  }

  private def parts: Opened = synchronized {
    if (closed) throw new IllegalStateException(s"the store in ${folder.location} was closed")
    if (opened == null) opened = open()
    opened
  }

  /** When it throws, it has left no folder, and no limits of its own with the others. */
  private def open(): Opened = {
    val workFolder = newFolder()
    try {
      val reads = SharedReads.OfProcess.join(limits)
      try new Opened(workFolder, reads)
      catch {
        case failure: Throwable =>
          reads.close()
          throw failure
      }
    } catch {
      case failure: Throwable =>
        delete(workFolder)
        throw failure
    }
  }

  private def delete(workFolder: WorkFolder): Unit =
    if (workFolder.temporary) WorkFolder.deleteAll(workFolder.path)

  private final class Opened(workFolder: WorkFolder, val reads: StoreReads) extends AutoCloseable {
    val local: LocalRuns = new LocalRuns(folder, workFolder, clock)
    if (isWritten) reads.writing()
    val readers: RunReaders = new RunReaders(local, reads)
    val writer: RunWriter = new RunWriter(folder, local, options, maxFileBytes)

    def close(): Unit =
      try readers.close()
      finally delete(workFolder)
  }
}
