package io.bucketstate.bench
package restart

import java.io.{ByteArrayInputStream, ByteArrayOutputStream}
import java.nio.file.{Files, Path, Paths}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.SparkConf
import org.apache.spark.io.LZ4CompressionCodec
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.rocksdb.RocksDB

import io.bucketstate.config.ConfigKey

/** A checkpoint: the version of its newest snapshot, and what the latest versions took in the folder. */
final case class Prepared(snapshot: Long, bytesPerVersion: Double)

/**
 * One restart.
 *
 * @param initMs       construction and initialisation of the provider
 * @param firstGetMs   from asking the initialised provider for the version until one value was read
 * @param firstGetCpuMs processor time of the task's thread meanwhile
 * @param firstBatchMs from the same moment until the first batch was committed
 * @param libraryIn    the part in which RocksDB's native library was loaded, or [[LibraryWatch.Never]]
 */
final case class RestartSample(
    initMs: Double,
    firstGetMs: Double,
    firstGetCpuMs: Double,
    firstBatchMs: Double,
    libraryIn: String,
    loadOfOthers: Double
)

/** How long the load of RocksDB's native library takes by itself. */
final case class LibraryLoad(ms: Double)

object LibraryLoad {

  /** Of use once per JVM. */
  def measure(): LibraryLoad = {
    val start = Host.nanos()
    RocksDB.loadLibrary()
    LibraryLoad((Host.nanos() - start) / 1e6)
  }
}

/**
 * What a restart benchmark has done in JVMs of their own; each answers with one line of JSON. What a
 * preparation leaves behind (heap, compiled code, loaded classes) is gone before anything is measured.
 *
 * '''Outside of the clock''' of a restart, because an executor has done it before a task opens its
 * store: the JVM's start, the loading of Spark's and Hadoop's classes for rows, settings and files (the
 * folder is listed once through Spark's file manager), the codec that Spark's shuffle and broadcasts use,
 * and the rows of the batch. The construction and initialisation of the provider has a clock of its
 * own, as it happens once per store and query run in the task, and RocksDB's provider loads its native
 * library there. '''Inside''' is all that comes then: the first `getStore`, with whatever classes,
 * libraries and files the provider loads for it, and the batch in code that was never compiled. Nothing of
 * a provider is run before. Files come from the system's cache. Snapshots are off, so that every
 * round meets the same files and none is taken beside the first batch; a state that is larger than its memory is put in
 * with snapshots, because what has none cannot leave it.
 *
 * That is the bare JVM. In the other [[RestartCondition]] Spark itself has run in it, too, as in every
 * executor that comes to its first store: [[RanSpark]].
 */
object RestartProbe {
  val name: String = getClass.getName.stripSuffix("$")

  // There is no query, whose coordinator would be told of commits.
  private val always = "spark.sql.streaming.stateStore.commitValidation.enabled" -> "false"

  private val withoutSnapshots = Contender.withoutSnapshots.settings.toSeq ++ Seq(
    "spark.sql.streaming.stateStore.minDeltasForSnapshot" -> "1000000",
    always
  )

  /** The errand's words, then options of which the first size and the first provider count. */
  def main(args: Array[String]): Unit = {
    val (errand, rest) = args.span(!_.startsWith("--"))
    Commands.run(rest, BenchOptions()) { options =>
      def probeWith(settings: Seq[(String, String)]) =
        new RestartProbe(options.copy(settings = settings ++ options.settings), _: Path)
      val probe = probeWith(withoutSnapshots)
      val isBounded = options.settings.exists(_._1 == ConfigKey.MemoryMaxBytes.key)
      val answer = errand.toSeq match {
        case Seq("library")         => LibraryLoad.measure()
        case Seq("preload", folder) =>
          (if (isBounded) probeWith(Seq(always)) else probe) (Paths.get(folder)).preload()
        case Seq("extend", folder, snapshot, from, to) =>
          probe(Paths.get(folder)).extend(snapshot.toLong, from.toInt, to.toInt)
        case Seq("restart", folder, snapshot, tail, condition) =>
          val wanted = RestartCondition.named(condition)
          probe(Paths.get(folder)).restart(snapshot.toLong, tail.toInt, wanted)
        case other => throw new IllegalArgumentException(other.mkString("no errand: ", " ", ""))
      }
      Host.say(JsonReport.line(answer))
    }
  }
}

private final class RestartProbe(options: BenchOptions, folder: Path) {
  private val contender = options.contenders.head
  private val workload = new Workload(options.keyCounts.head, options.updates, options.seed)
  private val label = s"${Keys.show(workload.keys)} ${contender.name}"
  private val driver = new Driver(label, workload, options)

  /** All keys, then batch 0 with a snapshot: the newest one from then on. */
  def preload(): Prepared = {
    val provider = contender.provider(options, folder)
    try {
      val loaded = driver.preload(provider)
      workload.fillBatch(0)
      val store = provider.getStore(loaded, None, forceSnapshotOnCommit = true, loadEmpty = false)
      driver.update(store)
      Prepared(store.commit(), bytesPerVersion = 0)
    } finally provider.close()
  }

  /** The batches after number `from`, up to `to`, on top of the snapshot of batch 0. */
  def extend(snapshot: Long, from: Int, to: Int): Prepared = {
    val provider = contender.provider(options, folder)
    val footprint = new Footprint(folder)
    try {
      footprint.look()
      for (number <- from until to) {
        workload.fillBatch(number + 1)
        val store = provider.getStore(snapshot + number)
        driver.update(store)
        store.commit()
      }
      Prepared(snapshot, footprint.look().toDouble / (to - from))
    } finally provider.close()
  }

  /** Opens the version of the batch with the number `tail`, and makes the one after it. */
  def restart(snapshot: Long, tail: Int, condition: RestartCondition): RestartSample =
    condition match {
      case RestartCondition.Bare       => restart(snapshot, tail)
      case RestartCondition.InSpark    => RanSpark()(restart(snapshot, tail))
      case RestartCondition.WithPlugin =>
        RanSpark(Contender.withPlugin.settings.toSeq: _*)(restart(snapshot, tail))
    }

  private def restart(snapshot: Long, tail: Int): RestartSample = {
    loadWhatExecutorsHave()
    workload.fillBatch(tail + 1)
    Host.loadOfOthers()
    val library = new LibraryWatch
    val begin = Host.nanos()
    val provider = contender.provider(options, folder)
    val initialised = Host.nanos()
    library.look("init")
    try {
      val startCpu = Host.threadNanos()
      val start = Host.nanos()
      val store = provider.getStore(snapshot + tail)
      if (store.get(workload.keyAt(0)) == null)
        throw new IllegalStateException(s"$label lost a key")
      val got = Host.nanos()
      val gotCpu = Host.threadNanos()
      library.look("first get")
      val rest = Host.nanos()
      val sum = driver.update(store)
      store.commit()
      val done = Host.nanos()
      library.look("first batch")
      val load = Host.loadOfOthers()
      driver.checkSum(sum, workload.expectedSum(tail + 2) - workload.expectedSum(tail + 1))
      RestartSample(
        (initialised - begin) / 1e6,
        (got - start) / 1e6,
        (gotCpu - startCpu) / 1e6,
        (got - start + done - rest) / 1e6,
        library.loadedIn,
        load
      )
    } finally provider.close()
  }

  private def loadWhatExecutorsHave(): Unit = {
    val root = new HadoopPath(folder.toUri)
    CheckpointFileManager.create(root, new Configuration).list(root)
    val codec = new LZ4CompressionCodec(new SparkConf)
    val bytes = new ByteArrayOutputStream
    Using.resource(codec.compressedOutputStream(bytes))(_.write(Array.fill[Byte](1000)(1)))
    Using.resource(codec.compressedInputStream(new ByteArrayInputStream(bytes.toByteArray))) {
      _.readAllBytes()
    }
    ()
  }
}

/** Notices in which part of a run RocksDB's jar unpacked its native library, by the file. */
private final class LibraryWatch {
  private var seen: Option[String] = None

  def look(part: String): Unit =
    if (seen.isEmpty && isUnpacked) seen = Some(part)

  def loadedIn: String = seen.getOrElse(LibraryWatch.Never)

  private def isUnpacked: Boolean =
    Using.resource(Files.list(Paths.get(sys.props("java.io.tmpdir")))) { files =>
      files.iterator.asScala.exists(_.getFileName.toString.startsWith("librocksdbjni"))
    }
}

private object LibraryWatch {
  val Never = "never"
}
