package io.bucketstate.testkit

import java.io.{FileNotFoundException, IOException}
import java.nio.file.{Files, Paths, StandardCopyOption}
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Using
import scala.util.matching.Regex

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs._
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager.CancellableFSDataOutputStream

import io.bucketstate.checkpoint.io.FileManagers

/** What happens to one call of a [[FaultyFileManager]]. */
sealed trait CallFault

object CallFault {

  /** It fails and has done nothing. */
  case object Throws extends CallFault

  /** It does its work and fails all the same: a lost reply. */
  case object LosesReply extends CallFault

  /** The process dies at it: it and all later calls fail until the next restart. */
  case object Crashes extends CallFault

  /** It fails, and does its work all the same some calls later. */
  final case class CompletesLate(calls: Int) extends CallFault
}

/**
 * Spark's door to a checkpoint, for a local folder, that numbers its calls and lets one of them go wrong.
 * Creating a file, publishing it and giving it up are calls of their own, and so is each read. Spark makes
 * it by name; the script for a folder is set with `FaultyFileManager.script`.
 */
final class FaultyFileManager(path: Path, conf: Configuration) extends CheckpointFileManager {
  import FaultyFileManager._

  private val script = scriptOf(path)
  private val local = new RawLocalFileSystem
  local.initialize(path.toUri.resolve("/"), conf)

  override def createAtomic(file: Path, overwrite: Boolean): CancellableFSDataOutputStream = {
    val target = Paths.get(file.toUri.getPath)
    val temporary = target.resolveSibling(s".${target.getFileName}.${UUID.randomUUID()}.tmp")
    val stream = script.call(s"create ${leaf(file)}") {
      if (!Files.isDirectory(target.getParent)) throw new FileNotFoundException(target.toString)
      Files.newOutputStream(temporary)
    }
    new CancellableFSDataOutputStream(stream) {
      private var done = false
      override def cancel(): Unit = if (!done) {
        done = true
        stream.close()
        script.call(s"cancel ${leaf(file)}") {
          Files.deleteIfExists(temporary)
          ()
        }
      }
      override def close(): Unit = if (!done) {
        done = true
        stream.close()
        script.call(s"publish ${leaf(file)}") {
          if (!overwrite && Files.exists(target)) {
            Files.delete(temporary)
            throw new FileAlreadyExistsException(target.toString)
          }
          Files.move(temporary, target, StandardCopyOption.ATOMIC_MOVE)
          ()
        }
      }
    }
  }

  override def open(file: Path): FSDataInputStream =
    script.call(s"open ${leaf(file)}")(local.open(file))

  override def list(folder: Path, filter: PathFilter): Array[FileStatus] =
    script.call(s"list ${leaf(folder)}")(local.listStatus(folder, filter))

  override def mkdirs(folder: Path): Unit = script.call(s"mkdirs ${leaf(folder)}") {
    Files.createDirectories(Paths.get(folder.toUri.getPath))
    ()
  }

  override def exists(file: Path): Boolean =
    script.call(s"exists ${leaf(file)}")(Files.exists(Paths.get(file.toUri.getPath)))

  override def delete(file: Path): Unit = script.call(s"delete ${leaf(file)}") {
    Files.deleteIfExists(Paths.get(file.toUri.getPath))
    ()
  }

  override def isLocal: Boolean = true

  override def createCheckpointDirectory(): Path = path

  private def leaf(file: Path): String = file.getName
}

object FaultyFileManager {

  /** Makes it the file manager of a provider. */
  def configure(hadoopConf: Configuration): Unit =
    hadoopConf.set(FileManagers.Setting, classOf[FaultyFileManager].getName)

  /** The calls of one checkpoint, and what is to happen to them. Thread-safe. */
  final class Script {
    private var faults = Map.empty[Int, CallFault]
    private var patterns = Map.empty[Regex, CallFault]
    private var before = Map.empty[Regex, () => Unit]
    private var crashed = false
    private val all = mutable.ArrayBuffer.empty[String]
    private val late = mutable.ArrayBuffer.empty[(Int, () => Unit)]

    def calls: Seq[String] = synchronized(all.toSeq)

    def isCrashed: Boolean = synchronized(crashed)

    def failAt(call: Int, fault: CallFault): Unit = synchronized(faults += call -> fault)

    /** The next call whose description matches goes wrong. */
    def failNext(pattern: String, fault: CallFault): Unit = synchronized {
      patterns += pattern.r -> fault
    }

    /** Ahead of the next call whose description matches, something else happens: it may call, too. */
    def beforeNext(pattern: String)(happens: => Unit): Unit = synchronized {
      before += pattern.r -> (() => happens)
    }

    /** The process is started anew. */
    def restart(): Unit = synchronized { crashed = false }

    /** All that is late arrives, and nothing goes wrong from now on. */
    def heal(): Unit = synchronized {
      crashed = false
      faults = Map.empty
      patterns = Map.empty
      before = Map.empty
      late.foreach(_._2())
      late.clear()
    }

    def call[A](what: String)(body: => A): A = {
      val ahead = synchronized {
        val matched = before.find(_._1.matches(what))
        matched.foreach(found => before -= found._1)
        matched.map(_._2)
      }
      // Beside the lock: what it does may be done by several threads.
      ahead.foreach(_())
      made(what)(body)
    }

    private def made[A](what: String)(body: => A): A = synchronized {
      all += what
      val number = all.size
      arrive(number)
      def failure = new IOException(s"call $number, $what, was made to fail")
      if (crashed) throw failure
      val matched = patterns.find(_._1.matches(what))
      matched.foreach(found => patterns -= found._1)
      faults.get(number).orElse(matched.map(_._2)) match {
        case None                       => body
        case Some(CallFault.Throws)     => throw failure
        case Some(CallFault.LosesReply) =>
          body
          throw failure
        case Some(CallFault.Crashes) =>
          crashed = true
          throw failure
        case Some(CallFault.CompletesLate(calls)) =>
          late += (number + calls) -> (() => quietly(body))
          throw failure
      }
    }

    private def arrive(number: Int): Unit = {
      val (now, later) = late.partition(_._1 <= number)
      late.clear()
      late ++= later
      now.foreach(_._2())
    }

    private def quietly[A](body: => A): Unit =
      try {
        body
        ()
      } catch { case _: IOException => () }
  }

  private val scripts = new ConcurrentHashMap[String, Script]

  /** Runs `body` with a script for the checkpoints under a folder. */
  def script[A](folder: java.nio.file.Path)(body: Script => A): A = {
    val key = folder.toAbsolutePath.toString
    val made = new Script
    scripts.put(key, made)
    try body(made)
    finally {
      scripts.remove(key)
      ()
    }
  }

  /** Nothing goes wrong beside the checkpoints that have one, where their savepoints would be. */
  private def scriptOf(path: Path): Script = {
    val here = Paths.get(path.toUri.getPath).toAbsolutePath.toString
    scripts.asScala
      .collectFirst { case (folder, script) if here.startsWith(folder) => script }
      .getOrElse(new Script)
  }

  /** A call of another door to a folder, which follows its script, if it has one. */
  private[testkit] def calling[A](path: Path, what: String)(body: => A): A = {
    val here = path.toUri.getPath
    scripts.asScala
      .collectFirst { case (folder, script) if here.startsWith(folder) => script }
      .fold(body)(_.call(what)(body))
  }

  /** Names of all files below a folder. */
  def filesUnder(folder: java.nio.file.Path): Seq[java.nio.file.Path] =
    Using
      .resource(Files.walk(folder))(_.iterator.asScala.filter(Files.isRegularFile(_)).toList)
      .sorted
}
