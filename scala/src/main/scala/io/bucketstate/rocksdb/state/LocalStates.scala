package io.bucketstate.rocksdb.state

import java.io.IOException
import java.nio.ByteBuffer
import java.nio.channels.FileChannel
import java.nio.file.LinkOption.NOFOLLOW_LINKS
import java.nio.file.StandardCopyOption.ATOMIC_MOVE
import java.nio.file.StandardOpenOption.{CREATE_NEW, WRITE}
import java.nio.file.{Files, Path}
import java.util.UUID

import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.bucketstate.checkpoint.io.{Attempt, WorkFolder}
import io.bucketstate.checkpoint.manifest.{
  LocalState,
  LocalStateFile,
  LocalStateFormat,
  ManifestFamily
}
import io.bucketstate.checkpoint.run.LocalRuns
import io.bucketstate.error.BucketstateException
import io.bucketstate.record.BucketAssigner

/**
 * What the databases of a store leave in a local folder that outlives them, so that a restart on the same machine
 * begins with it: a folder of hard links to the files of a database for one version of the store. It is of use only to
 * whoever restores just that commit, and whatever is not whole, or of another history, is passed over. Thread-safe.
 *
 * Flink calls this local recovery (task-local state); there, as here, it is a second copy that nothing depends on.
 *
 * @param folder     of the store; others may use it, too
 * @param numBuckets of the store, known when it was opened
 */
final class LocalStates(folder: Path, numBuckets: => Int, newId: () => UUID) {
  import LocalStates._

  private[this] val log = LoggerFactory.getLogger(classOf[LocalStates])

  /**
   * Leaves what a database holds, in place of what was left before. Takes as long as RocksDB takes to flush what it has in
   * memory. Throws `IOException` or `UnavailableException`; what was there before is there still then.
   *
   * @param version what it holds; not the empty store
   */
  def leave(database: StateDatabase, version: WrittenVersion): Unit = {
    // In the database's folder it goes with that, should this process die.
    val making = database.folder.resolve("leaving")
    WorkFolder.deleteAll(making)
    try publish(making, database, version)
    catch {
      case failure: Throwable =>
        // Its links would keep the space of files that the database itself deletes.
        try WorkFolder.deleteAll(making)
        catch { case NonFatal(second) => failure.addSuppressed(second) }
        throw failure
    }
  }

  private def publish(making: Path, database: StateDatabase, version: WrittenVersion): Unit = {
    database.linkTo(making)
    val state = LocalState(
      version.attempt,
      version.commitId.getOrElse(throw new IllegalArgumentException("the empty store")),
      numBuckets,
      BucketAssigner.HashName,
      version.families.map(f => ManifestFamily(f.descriptor, f.keyCount, times = f.times)),
      filesIn(making)
    )
    writeSynced(making.resolve(StateFile), LocalStateFormat.encode(state))
    val left = all
    Files.move(making, folder.resolve(s"$Prefix${newId()}"), ATOMIC_MOVE)
    left.foreach(WorkFolder.deleteAll)
  }

  /**
   * Links the newest that was left of some commits of the store into a folder, which is there, as files of a database;
   * tells what it holds. None if there is none, or none that is whole.
   */
  def take(isWanted: (Attempt, UUID) => Boolean, into: Path): Option[WrittenVersion] =
    all
      .flatMap(path => stateIn(path).map(path -> _))
      .filter { case (_, state) => isOurs(state) }
      .sortBy { case (_, state) => -state.version }
      .iterator
      .filter { case (_, state) => isWanted(state.attempt, state.commitId) }
      .flatMap { case (path, state) => linked(path, state, into) }
      .nextOption()

  /** Whether anything was left, of use or not. */
  def hasSome: Boolean = all.nonEmpty

  /** A file of a database turned out to be of no use; what was left may be of the same files. */
  def forget(): Unit =
    try all.foreach(WorkFolder.deleteAll)
    catch { case NonFatal(e) => log.warn(s"What was left in $folder could not be deleted", e) }

  private def isOurs(state: LocalState): Boolean =
    state.numBuckets == numBuckets && state.hashFunction == BucketAssigner.HashName

  private def stateIn(path: Path): Option[LocalState] = {
    val file = path.resolve(StateFile)
    passingOver(path)(LocalStateFormat.decode(Files.readAllBytes(file), file.toString))
  }

  private def linked(from: Path, state: LocalState, into: Path): Option[WrittenVersion] = {
    val taken = passingOver(from) {
      state.files.foreach(file => link(from.resolve(file.name), file, into.resolve(file.name)))
      WrittenVersion(state.attempt, Some(state.commitId), state.families.map(_.described))
    }
    if (taken.isEmpty) state.files.foreach(file => Files.deleteIfExists(into.resolve(file.name)))
    taken
  }

  /** Data files are never changed, the others are. */
  private def link(from: Path, file: LocalStateFile, target: Path): Unit = {
    if (!Files.isRegularFile(from, NOFOLLOW_LINKS)) throw new IOException(s"$from: is no file")
    val found = Files.size(from)
    if (found != file.bytes)
      throw new IOException(s"$from: expected ${file.bytes} bytes, found $found")
    file.checksum match {
      case None           => Files.createLink(target, from)
      case Some(expected) =>
        Files.copy(from, target)
        if (LocalRuns.checksum(target) != expected)
          throw new IOException(s"$from: expected the checksum $expected")
    }
    ()
  }

  /** What cannot be read is as good as not there: the checkpoint has all. */
  private def passingOver[A](path: Path)(read: => A): Option[A] =
    try Some(read)
    catch {
      case NonFatal(e) =>
        val why = e match {
          case known: BucketstateException => known.what
          case other                       => other.toString
        }
        log.warn(s"The local state in $path is not used, the checkpoint is read instead: $why")
        None
    }

  private def all: Seq[Path] =
    if (!Files.isDirectory(folder)) Nil
    else Using.resource(Files.newDirectoryStream(folder, s"$Prefix*"))(_.asScala.toSeq)
}

private object LocalStates {
  private val Prefix = "local-"
  private val StateFile = "bucketstate.state"
  private val DataFile = ".sst"

  private def filesIn(folder: Path): Seq[LocalStateFile] =
    Using.resource(Files.newDirectoryStream(folder))(_.asScala.toSeq).sorted.map { path =>
      val name = path.getFileName.toString
      val sum = Option.unless(name.endsWith(DataFile))(LocalRuns.checksum(path))
      LocalStateFile(name, Files.size(path), sum)
    }

  private def writeSynced(path: Path, bytes: Array[Byte]): Unit =
    Using.resource(FileChannel.open(path, CREATE_NEW, WRITE)) { channel =>
      val buffer = ByteBuffer.wrap(bytes)
      while (buffer.hasRemaining) channel.write(buffer)
      channel.force(true)
    }
}
