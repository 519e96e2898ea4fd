package org.apache.spark.sql.execution.streaming.state

import java.io.{File, IOException}
import java.nio.file.{DirectoryIteratorException, Files, Path => LocalPath}
import java.util.UUID

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.internal.config
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.util.{NextIterator, Utils}
import org.apache.spark.{SparkConf, SparkContext, SparkEnv, TaskContext}

/**
 * The few members private to Spark that a state store provider needs. Everything else of this project
 * lives outside Spark's packages.
 */
object SparkInternals {

  /** Spark's error for a failed commit; users and Spark's own tests know its error class. */
  def failedToCommit(store: String, cause: Throwable): Throwable =
    QueryExecutionErrors.failedToCommitStateFileError(store, cause)

  /** Spark's error for a version below 0. */
  def unexpectedVersion(version: Long): Throwable =
    QueryExecutionErrors.unexpectedStateStoreVersion(version)

  /** Spark's error for a file of state that cannot be read, or is not there. */
  def unreadableFile(file: String, cause: Throwable): Throwable =
    QueryExecutionErrors.failedToReadStreamingStateFileError(new Path(file), cause)

  /** Spark's error for a store that another thread does not let go of. */
  def storeStillHeld(
      storeId: String,
      operation: String,
      wantedBy: String,
      heldBy: String,
      waitedMs: Long,
      stack: String
  ): Throwable =
    QueryExecutionErrors.unreleasedThreadError(
      storeId,
      operation,
      wantedBy,
      heldBy,
      waitedMs,
      stack
    )

  /** The query's run, by which the coordinator knows a provider; None outside of a query. */
  def runId(hadoopConf: Configuration): Option[UUID] =
    Option(hadoopConf.get(StreamExecution.RUN_ID_KEY)).map(UUID.fromString)

  /** Throws what Spark expects of a task that it has killed, if the caller is one. */
  def requireTaskAlive(): Unit = Option(TaskContext.get()).foreach(_.killTaskIfInterrupted())

  /**
   * Whether the running task is of a batch of the run that a store is of; outside of a task there is nobody who could tell.
   * Spark's state reader says that its stores are of a query's run, too, of one that it makes up, also where user code
   * reads within a batch. A batch may lack the mark where user code gives its jobs another group, or starts them in a thread
   * that was there before.
   *
   * @param hadoopConf that Spark gave the store
   */
  def isOfBatch(hadoopConf: Configuration): Boolean = Option(TaskContext.get()).forall { task =>
    runId(hadoopConf).exists(_.toString == task.getLocalProperty(RunOfJob))
  }

  /** The property of a job that a query gives its run's id: the group, to be able to cancel its jobs. */
  val RunOfJob: String = SparkContext.SPARK_JOB_GROUP_ID

  /** What the job is described as that the running task is part of. */
  def jobDescription: Option[String] =
    Option(TaskContext.get()).flatMap(task =>
      Option(task.getLocalProperty(SparkContext.SPARK_JOB_DESCRIPTION))
    )

  /** A setting of an application, which came with Spark 4.3: see [[hasTwoThreads]]. */
  val PipelinedPython: String = "spark.python.udf.pipelined.enabled"

  /**
   * Whether Spark calls a store of Python's operators from two threads at once: one gives keys to Python and asks the store
   * for their states, while the task's own thread puts others.
   */
  def hasTwoThreads: Boolean = Option(SparkEnv.get)
    .flatMap(_.conf.getOption(PipelinedPython))
    .exists(_.trim.equalsIgnoreCase("true"))

  /** The key that Spark gives the metadata of columns that a watermark is of. */
  val WatermarkKey: String = EventTimeWatermark.delayKey

  /**
   * How many keys an open store of Spark's RocksDB provider has in a column family, of which it need not have been told; 0
   * where there is no such family.
   */
  def rocksDbKeys(state: ReadStateStore, family: String): Long = state match {
    case store: RocksDBStateStoreProvider#RocksDBStateStore =>
      val database = store.dbInstance()
      if (database.checkColFamilyExists(family))
        database.prefixScan(Array.emptyByteArray, family).size.toLong
      else 0L
    case other => throw new IllegalArgumentException(s"$other is no store of RocksDB")
  }

  /** The driver's, if this is its process. */
  def activeContext: Option[SparkContext] = SparkContext.getActive

  /** Bytes of the heap that Spark leaves to user code: what is neither its own reserve nor a region of its. */
  def userMemory: Long = {
    val conf = Option(SparkEnv.get).fold(new SparkConf())(_.conf)
    val usable = Runtime.getRuntime.maxMemory - ReservedBytes
    Math.max(0L, (usable * (1 - conf.get(config.MEMORY_FRACTION))).toLong)
  }

  /** What `UnifiedMemoryManager` sets aside, privately. */
  private final val ReservedBytes = 300L << 20

  /**
   * A new folder in Spark's local folders, with which it goes if nobody deletes it before. Spark itself would also
   * remember its temporary folders until the process ends, each by its path: a store that is opened for every batch makes
   * one every time.
   */
  def newLocalFolder(): File = {
    val conf = Option(SparkEnv.get).fold(new SparkConf())(_.conf)
    Utils.createDirectory(Utils.getLocalDir(conf), FolderName)
  }

  private final val FolderName = "bucketstate"

  /**
   * Such folders of other processes, as far as this one may see them: Spark makes a folder for each process in a local
   * folder, or uses that as it is.
   */
  def foldersLike(own: LocalPath): Seq[LocalPath] = {
    val place = own.getParent
    val isOfProcess = place.getFileName.toString.startsWith(OfProcess)
    val places = if (isOfProcess) startingWith(OfProcess, place.getParent) else Seq(place)
    places.flatMap(startingWith(s"$FolderName-", _)).filter(_ != own)
  }

  private final val OfProcess = "spark-"

  private def startingWith(name: String, folder: LocalPath): Seq[LocalPath] =
    try Using.resource(Files.newDirectoryStream(folder, s"$name*"))(_.asScala.toVector)
    catch { case _: IOException | _: DirectoryIteratorException => Nil }
}

/**
 * What `getStateStoreChangeDataReader` must return: Spark's `NextIterator`, a class private to Spark.
 *
 * @param advance the next change, None at the end
 * @param end     called once, at the end or by whoever reads no further
 */
final class ChangeRecords(
    advance: () => Option[(RecordType.Value, UnsafeRow, UnsafeRow, Long)],
    end: () => Unit
) extends NextIterator[(RecordType.Value, UnsafeRow, UnsafeRow, Long)] {

  override def getNext(): (RecordType.Value, UnsafeRow, UnsafeRow, Long) =
    advance().getOrElse {
      finished = true
      null
    }

  override def close(): Unit = end()
}
