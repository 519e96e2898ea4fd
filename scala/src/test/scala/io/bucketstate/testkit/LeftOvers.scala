package io.bucketstate.testkit

import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.spark.sql.execution.streaming.state.SparkInternals

import io.bucketstate.checkpoint.run.OpenRunFile

/** What this project may leave behind in a JVM and on a disk, counted. */
object LeftOvers {

  /** Names of live threads of this project's. */
  def threads: Seq[String] =
    Thread.getAllStackTraces.keySet.asScala.map(_.getName).filter(_.startsWith("bucketstate")).toSeq

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

  /** Working folders of this process's stores, which Spark puts below a folder of its own. */
  def workFolders: Seq[Path] = {
    val probe = SparkInternals.newLocalFolder().toPath
    Files.delete(probe)
    Using.resource(Files.list(probe.getParent)) {
      _.iterator.asScala.filter(_.getFileName.toString.startsWith("bucketstate")).toSeq
    }
  }
}
