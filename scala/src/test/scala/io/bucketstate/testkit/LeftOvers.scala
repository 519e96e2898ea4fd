package io.bucketstate.testkit

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.spark.sql.execution.streaming.state.SparkInternals

import io.bucketstate.background.Writers
import io.bucketstate.checkpoint.run.open.{OpenRunFile, SharedReads}
import io.bucketstate.rocksdb.state.ExecutorNative
import io.bucketstate.store.StoreMemory

/** What this project may leave behind in a JVM and on a disk, counted. */
object LeftOvers {

  /** Names of live threads of this project's. */
  def threads: Seq[String] =
    Thread.getAllStackTraces.keySet.asScala.map(_.getName).filter(_.startsWith("bucketstate")).toSeq

  /** All that stores may have of this process. */
  def ofProcess: OfProcess = OfProcess(
    Seq(StoreMemory.Tracker, StoreMemory.HotTracker).map(t => (t.stores, t.limit, t.total)),
    StoreMemory.Unwritten.total,
    SharedReads.OfProcess.stores,
    openRuns,
    ExecutorNative.stores,
    Writers.OfProcess.areActive
  )

  /** The same, and the folders that stores work in. */
  def inProcess: (OfProcess, Seq[Path]) = (ofProcess, workFolders)

  /**
   * @param memory    of each tracker its stores, their limit, and the bytes that they take
   * @param unwritten bytes of changes that wait for databases
   * @param readers   stores whose limits hold for what all read
   */
  final case class OfProcess(
      memory: Seq[(Int, Long, Long)],
      unwritten: Long,
      readers: Int,
      openRuns: Int,
      databases: Int,
      areWriting: Boolean
  )

  /** Files of runs that this process has open. */
  def openRuns: Int = OpenRunFile.liveCount

  /** Open files below a folder, where the system tells (Linux). */
  def openFiles(folder: Path): Seq[String] = {
    val handles = Paths.get("/proc/self/fd")
    if (!Files.isDirectory(handles)) Nil
    else {
      Using
        .resource(Files.list(handles))(_.iterator.asScala.toSeq)
        // A handle may be closed while we look.
        .flatMap(handle => Try(Files.readSymbolicLink(handle).toString).toOption)
        .filter(_.startsWith(folder.toString))
    }
  }

  /** Paths that Spark remembers until this process ends, to delete them then. */
  def rememberedPaths: Int = {
    val field = ShutdownHooks.getClass.getDeclaredField("shutdownDeletePaths")
    field.setAccessible(true)
    field.get(ShutdownHooks).asInstanceOf[scala.collection.Iterable[_]].size
  }

  /** Spark's `ShutdownHookManager`, which is private to it. */
  private lazy val ShutdownHooks: AnyRef =
    Class.forName("org.apache.spark.util.ShutdownHookManager$").getField("MODULE$").get(null)

  /** Working folders of this process's stores, which Spark puts below a folder of its own. */
  def workFolders: Seq[Path] = {
    val probe = SparkInternals.newLocalFolder().toPath
    Files.delete(probe)
    Using.resource(Files.list(probe.getParent)) {
      _.iterator.asScala.filter(_.getFileName.toString.startsWith("bucketstate")).toSeq
    }
  }
}
