package io.bucketstate.plugin.warm

import java.io.IOException
import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}
import java.util.Comparator
import java.util.concurrent.TimeUnit

import scala.util.Using
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkConf
import org.apache.spark.sql.execution.streaming.state.{
  SparkInternals,
  StateStoreConf,
  StateStoreProvider
}
import org.apache.spark.sql.internal.SQLConf
import org.slf4j.LoggerFactory

import io.bucketstate.config.ConfigKey

/**
 * Loads the classes of a store, and lets the JVM compile some of them, before the first task needs them: they are
 * most of what a cold executor's first read of a state takes. [[SmallStore Small stores]] do it in a folder of their
 * own, which is deleted, while Spark starts.
 *
 * What goes wrong in it is logged, and is nothing else's.
 *
 * @param make       a provider that is not initialised
 * @param conf       the application's
 * @param hadoopConf the process's, because the first one that opens a file system is kept for all
 * @param limitMs    of processor time; what it ends in the middle of takes some milliseconds more
 */
private[plugin] final class JvmWarmUp(
    make: () => StateStoreProvider,
    conf: SparkConf,
    hadoopConf: Configuration,
    limitMs: Long
) {
  import JvmWarmUp._

  @volatile private[this] var isStopped = false
  private[this] val thread = new Thread(() => run(), "bucketstate-jvm-warm-up")
  thread.setDaemon(true)
  // Linux heeds it only where the JVM is told to; the bound counts everywhere.
  thread.setPriority(Thread.MIN_PRIORITY)

  /** Begins on a thread of its own. */
  def start(): Unit = thread.start()

  /** Ends soon; the thread deletes its folder. */
  def stop(): Unit = {
    isStopped = true
    thread.interrupt()
  }

  /** Waits for the end, however it comes. */
  def await(): Unit = thread.join()

  private def run(): Unit =
    try {
      val folder = SparkInternals.newLocalFolder().toPath
      try rounds(folder)
      finally delete(folder)
    } catch {
      // An interrupt may come as what it was caught in the middle of.
      case _: InterruptedException                                   => ()
      case NonFatal(_) if isStopped                                  => ()
      case e @ (NonFatal(_) | _: LinkageError | _: OutOfMemoryError) =>
        log.warn("The stores of this process begin cold: warming its JVM up failed", e)
    }

  private def rounds(folder: Path): Unit = {
    val settings = storeConf(conf, folder)
    for {
      round <- 0 until MostRounds
      hasFamilies <- Seq(false, true)
      if mayGoOn
    } {
      val place = folder.resolve(s"$round-$hasFamilies")
      val store = new SmallStore(make, settings, hadoopConf, place, hasFamilies)
      try store.steps.takeWhile(_ => mayGoOn).foreach(_())
      finally store.close()
    }
  }

  private def mayGoOn: Boolean = usedMs < limitMs && !isStopped
}

private[warm] object JvmWarmUp {
  private val log = LoggerFactory.getLogger(classOf[JvmWarmUp])
  private val threads = ManagementFactory.getThreadMXBean

  /** What comes after makes nothing faster that a first batch does. */
  private final val MostRounds = 20

  /** What decides which classes a store needs, and what stores share: the first one or the least decides for all. */
  private val OfApplication = ConfigKey.Engine +: ConfigKey.ofExecutor

  /**
   * The settings of small stores.
   *
   * @param conf the application's
   */
  def storeConf(conf: SparkConf, folder: Path): StateStoreConf = {
    val settings = new SQLConf
    OfApplication.map(_.key).foreach { name =>
      conf.getOption(name).foreach(settings.setConfString(name, _))
    }
    // A folder of the application's outlives the process, and nobody would ever ask for these stores again.
    if (conf.getOption(ConfigKey.LocalDir.key).exists(_ != ConfigKey.LocalDir.default)) {
      settings.setConfString(ConfigKey.LocalDir.key, folder.resolve("local").toString)
    }
    // There is no query, whose coordinator would be told of commits.
    settings.setConfString("spark.sql.streaming.stateStore.commitValidation.enabled", "false")
    settings.setConfString(ConfigKey.SnapshotMode.key, "sync")
    settings.setConfString(ConfigKey.SnapshotMaxVersions.key, SmallStore.SnapshotVersions.toString)
    StateStoreConf(settings)
  }

  private def usedMs: Long = TimeUnit.NANOSECONDS.toMillis(threads.getCurrentThreadCpuTime)

  private def delete(folder: Path): Unit = {
    // Files cannot be deleted by a thread that is interrupted.
    Thread.interrupted()
    try
      Using.resource(Files.walk(folder)) {
        _.sorted(Comparator.reverseOrder[Path]()).forEach(path => Files.delete(path))
      }
    catch { case e: IOException => log.debug(s"$folder was not deleted", e) }
  }
}
