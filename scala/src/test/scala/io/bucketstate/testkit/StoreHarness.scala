package io.bucketstate.testkit

import java.nio.file.{Files, Path}
import java.time.Clock
import java.util.UUID
import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._
import scala.util.matching.Regex
import scala.util.{Try, Using}

import io.bucketstate.background.{ClocksAndIds, Ticker}
import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.checkpoint.records.{FamilyEncodings, KnownFamilies}
import io.bucketstate.checkpoint.snapshot.FamilySchemas
import io.bucketstate.config.{ConfigKey, SparkHonoured, StoreConfig}
import io.bucketstate.record.{
  BucketAssigner,
  Expiry,
  FamilyDescriptor,
  Record,
  RecordBuffer,
  TimedValue
}
import io.bucketstate.store.{OpenStore, StillHeld, StoreCall, StoreHost, WriteSession}
import io.bucketstate.table.StateTable

/** What a [[StoreHarness]] says when something is refused. */
sealed abstract class Refusal(text: String, cause: Throwable = null)
    extends RuntimeException(text, cause)

object Refusal {
  final case class CannotLoad(why: Throwable) extends Refusal(s"cannot load: $why", why)
  final case class StillHeldBy(held: StillHeld) extends Refusal(held.toString)
  final case class InvalidStamp(stamp: Long, current: Long) extends Refusal(s"$stamp, not $current")
  final case class Closed(call: StoreCall) extends Refusal(s"${call.verb} of a closed store")
}

/**
 * A store without Spark: opens stores on one folder of files, as the executors of a query would, and
 * writes down what they tell their host. Keys and values are strings.
 *
 * @param expiry   how records age, where they do
 * @param retained how many of the newest versions maintenance leaves
 * @param unloads  whether a store is closed after each batch
 * @param lists    whether keys may have several values
 * @param inMemory how many versions a table keeps at least
 * @param step     told of each call that stores make of their host, of the clock for durations and of their ids; what it
 *                 throws is what the call throws
 */
final class StoreHarness(
    val files: FileStore,
    folder: Path,
    expiry: Option[Expiry] = None,
    clock: Clock = Clock.systemUTC(),
    retained: Int = 100,
    step: String => Unit = _ => (),
    unloads: Boolean = false,
    lists: Boolean = false,
    inMemory: Int = 2
) extends StoreHost {

  /** What the stores told, such as `committed 2`, in order. */
  def told: Seq[String] = events.asScala.toSeq

  /** What is to be kept for good. */
  @volatile var pinned: () => Seq[Attempt] = () => Nil

  /** Whether what opens a version is a batch, as far as it is told. */
  @volatile var isOfBatch: Boolean = true

  /** Called by who waits for a store. */
  @volatile var onWait: () => Unit = () => ()

  private val opened = new ConcurrentLinkedQueue[OpenStore]
  private val events = new ConcurrentLinkedQueue[String]
  private val ids = new AtomicLong

  /** @param settings below `spark.sql.streaming.stateStore.bucketed.` */
  def open(withIds: Boolean, settings: (String, String)*): OpenStore = {
    val config = configOf(withIds, settings)
    val default = if (lists) StoreHarness.Lists else Changes.descriptor(0)
    val families = new KnownFamilies(default, others = false, expiry, config.exactKeyCount)
    val newId = () => {
      step("newId")
      new UUID(0L, ids.incrementAndGet())
    }
    val store = OpenStore(
      files,
      families,
      config,
      ClocksAndIds(clock, ticker, newId),
      this
    )
    opened.add(store)
    store
  }

  /** What a store is opened with. */
  def configOf(withIds: Boolean, settings: Seq[(String, String)]): StoreConfig = {
    val spark = SparkHonoured(retained, 0, -1, inMemory, 10, "lz4", true, 1, 500, withIds, unloads)
    val all =
      Map(
        "numBuckets" -> "4",
        "snapshot.maxVersions" -> "1000",
        "engine" -> EngineUnderTest.name
      ) ++
        settings
    StoreConfig.parse(all.map { case (k, v) => ConfigKey.Prefix + k -> v }, spark)
  }

  /** Closes the stores that tests left open. One that is still written is not waited for. */
  def close(): Unit = {
    onWait = () => throw new IllegalStateException("the test has ended")
    opened.forEach { store =>
      Try(store.closeForGood())
      ()
    }
  }

  override def name: String = "the store"
  override def cannotLoad(cause: Throwable): Throwable = Refusal.CannotLoad(cause)
  override def schemasOf(family: String): Option[FamilySchemas] = {
    step("schemasOf")
    None
  }
  override def spareableHeap: Long = {
    step("spareableHeap")
    Runtime.getRuntime.maxMemory / 2
  }
  override def newFolder(): Path = {
    step("newFolder")
    Files.createTempDirectory(folder, "work")
  }
  override def foldersLike(own: Path): Seq[Path] =
    Using.resource(Files.newDirectoryStream(folder, "work*"))(_.asScala.toVector).filter(_ != own)
  override def held(since: Long): Seq[Attempt] = {
    step("held")
    pinned()
  }
  override def restored(): Unit = note("restored")
  override def committed(version: Long): Unit = note(s"committed $version")
  override def snapshotMade(version: Long): Unit = note(s"snapshot $version")

  override def task: Option[String] = {
    step("task")
    Some("a test")
  }
  override def requireAlive(): Unit = {
    step("requireAlive")
    onWait()
  }
  override def stillHeld(wait: StillHeld): Throwable = Refusal.StillHeldBy(wait)
  override def invalidStamp(stamp: Long, current: Long): Throwable =
    Refusal.InvalidStamp(stamp, current)
  override def closed(call: StoreCall): Throwable = Refusal.Closed(call)

  private def note(event: String): Unit = {
    events.add(event)
    step(event)
  }

  private object ticker extends Ticker {
    override def nanos: Long = {
      step("nanos")
      Ticker.System.nanos
    }
  }
}

object StoreHarness {
  private val assigner = new BucketAssigner(4)

  /** In memory. */
  def use[A](body: StoreHarness => A): A =
    TempFolder.use { folder =>
      val harness = new StoreHarness(new MemoryFileStore, folder)
      try body(harness)
      finally harness.close()
    }

  /** Opens a version for writing. */
  def write(
      store: OpenStore,
      version: Long,
      id: Option[String] = None,
      forceSnapshot: Boolean = false
  ): WriteSession =
    store.openForWrite(Attempt(version, id), forceSnapshot = forceSnapshot)(session => session)

  /** The family of a store of lists. */
  val Lists: FamilyDescriptor =
    Changes.descriptor(0).copy(valueEncoding = FamilyEncodings.CompactRows)

  /** A value that is appended to what its key has, in a store of lists. */
  val Appended: Regex = "\\+(.*)".r

  /** Changes a version: a value that is None removes its key, and one that is [[Appended]] is appended. */
  def change(session: WriteSession, changes: (String, Option[String])*): Unit = {
    val family = session.table.family(session.table.families.head.spec)
    changes.foreach {
      case (key, Some(Appended(value))) if family.spec.multiValued =>
        family.merge(TextRecords.record(key, value, assigner))
      case (key, Some(value)) =>
        val record = TextRecords.record(key, value, assigner)
        if (family.spec.expiry.isDefined) stamp(record, family.writeTime)
        family.put(record)
      case (key, None) => family.remove(TextRecords.key(key, assigner))
    }
  }

  /** Puts a time in front of the value. */
  private def stamp(record: RecordBuffer, start: Long): Unit = {
    val value = valueOf(record.toRecord)
    val space = record.valueSpace(TimedValue.Length + value.length)
    val at = TimedValue.put(space, record.keyEnd, start)
    System.arraycopy(value, 0, space, at, value.length)
    record.valueDone(at + value.length)
  }

  private def valueOf(record: Array[Byte]): Array[Byte] = record.drop(Record.keyEnd(record))

  /** Opens a version, changes it and commits, or aborts when that fails, as a task does; the session has ended. */
  def batch(
      store: OpenStore,
      version: Long,
      id: Option[String] = None,
      forceSnapshot: Boolean = false
  )(
      changes: (String, Option[String])*
  ): WriteSession = {
    val session = write(store, version, id, forceSnapshot)
    try {
      change(session, changes: _*)
      session.verify()
      session.commit()
    } catch {
      case failure: Throwable =>
        session.abort()
        throw failure
    } finally session.end()
    session
  }

  /** All that a version holds. */
  def contents(table: StateTable, version: Long): Map[String, String] = {
    val out = Map.newBuilder[String, String]
    for {
      family <- table.familiesAt(version)
      record <- family.records(version)
    } {
      val value = TextRecords.valueOf(record)
      val isTimed = family.spec.expiry.isDefined
      out += TextRecords.keyOf(record) -> (if (isTimed) value.drop(TimedValue.Length) else value)
    }
    out.result()
  }

  def read(store: OpenStore, version: Long, id: Option[String] = None): Map[String, String] = {
    val session = store.openForRead(Attempt(version, id))
    try contents(session.table, version)
    finally session.end()
  }
}
