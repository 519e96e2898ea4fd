package io.bucketstate.spark

import java.time.Clock
import java.util.UUID
import java.util.concurrent.atomic.AtomicLong

import org.apache.hadoop.conf.Configuration
import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.{BlockCodec, FileStores, Recovery}
import io.bucketstate.config.{MetricKey, StoreConfig}
import io.bucketstate.table.{RecordBuffer, VersionedTable}

/**
 * One store of one query run: opens versions for tasks, one writer at a time, readers beside it.
 *
 * Memory is a cache of the checkpoint: whatever goes wrong here, the table is dropped and the next task
 * loads it. Thread-safe.
 */
private[bucketstate] final class BucketedStore(
    val id: StateStoreId,
    keySchema: StructType,
    valueSchema: StructType,
    keySpec: KeyStateEncoderSpec,
    config: StoreConfig,
    conf: StateStoreConf,
    hadoopConf: Configuration
) {
  private[this] val ticker = Ticker.System
  private[this] val family =
    FamilySchema(0, StateStore.DEFAULT_COL_FAMILY_NAME, keySchema, valueSchema, keySpec)
  private[this] val assigner = new BucketAssigner(config.numBuckets)
  private[this] val codec = BlockCodec.forName(config.compressionCodec)
  private[this] val files = FileStores.forFolder(id.storeCheckpointLocation(), hadoopConf)
  private[this] val recovery =
    new Recovery(files, assigner, Seq(family.tableSpec -> family.descriptor))
  private[this] val keeper = new TableKeeper(recovery.load, config.versionsInMemory)
  private[this] val lock = new WriterLock(id, config.lockAcquireTimeoutMs, ticker)
  private[this] val committer =
    new Committer(files, assigner, codec, Seq(family.descriptor), UUID.randomUUID(), ticker)
  private[this] val maintenance =
    new StoreMaintenance(files, config.minVersionsToRetain, Clock.systemUTC())
  private[this] val validator = new RowValidator(id, keySchema, valueSchema, conf)
  private[this] val newestDurable = new AtomicLong

  files.createFolder()

  def openForWrite(version: Long, checkpointId: Option[String], loadEmpty: Boolean): StateStore = {
    requirePlainVersion(version, checkpointId)
    if (loadEmpty) {
      throw StateStoreErrors.unsupportedOperationException(
        "getStore(loadEmpty)",
        StoreView.Provider
      )
    }
    val stamp = lock.acquire()
    try {
      val start = ticker.nanos
      val opened = loading(keeper.openForWrite(version))
      val session = new Session(opened, stamp, ticker.millisSince(start), checkOf(opened, version))
      val store = new BucketedStateStore(id, version, viewOf(opened.table), validator, session)
      onTaskEnd(() => store.abortIfOpen(), () => { lock.release(stamp); () })
      store
    } catch {
      case failure: Throwable =>
        keeper.forget()
        lock.release(stamp)
        throw failure
    }
  }

  def openForRead(version: Long, checkpointId: Option[String]): ReadStateStore = {
    requirePlainVersion(version, checkpointId)
    lock.failIfClosed("ACQUIRED", "load")
    val table = loading(keeper.openForRead(version)).table
    val end = () => keeper.endRead(table, version)
    val store = new BucketedReadStore(id, version, viewOf(table), validator, end)
    onTaskEnd(() => store.endIfOpen(), () => ())
    store
  }

  def maintain(): Unit = {
    lock.failIfClosed("MAINTENANCE", "maintenance")
    maintenance.run(newestDurable.get)
  }

  /** Waits for a task that still writes, within the lock's time limit. */
  def close(): Unit = if (lock.close()) {
    keeper.forget()
    committer.close()
    files.close()
  }

  private def viewOf(table: VersionedTable): FamilyView =
    new FamilyView(
      family,
      table.family(family.tableSpec),
      KeyCodecs.forSpec(keySpec, valueSchema),
      new RecordBuffer(assigner)
    )

  private def requirePlainVersion(version: Long, checkpointId: Option[String]): Unit = {
    if (checkpointId.isDefined) throw BucketedStore.noCheckpointIds
    if (version < 0) throw SparkInternals.unexpectedVersion(version)
  }

  private def loading(open: => Opened): Opened =
    try open
    catch {
      case failure: Throwable =>
        throw SparkErrors.cannotLoad(id, StoreView.Provider, failure)
    }

  private def checkOf(opened: Opened, version: Long): LineageCheck = opened match {
    case Opened.Reloaded(_) => LineageCheck.Settled
    case _                  =>
      keeper.writerOf(version).fold(LineageCheck.Settled)(LineageCheck.start(files, version, _))
  }

  /** Spark runs these when the task ends, however it ends; outside a task there is nobody to run them. */
  private def onTaskEnd(first: () => Unit, last: () => Unit): Unit =
    Option(TaskContext.get()).foreach { context =>
      context.addTaskCompletionListener[Unit]((_: TaskContext) =>
        try first()
        finally last()
      )
    }

  /** What one write store does to the table and the files, while its stamp is the current one. */
  private final class Session(
      opened: Opened,
      stamp: Long,
      loadMs: Long,
      lineage: LineageCheck
  ) extends WriteSession {

    override def commit(): StateStoreMetrics = {
      try lineage.settle()
      catch {
        case failure: Throwable =>
          keeper.forget()
          throw failure
      }
      val figures = committer.commit(opened.table)
      keeper.committed(opened.table, committer.writerId)
      newestDurable.accumulateAndGet(opened.table.newest, Math.max(_, _))
      if (conf.commitValidationEnabled) {
        StateStore.reportCommitToCoordinator(opened.table.newest, id, hadoopConf)
      }
      metricsWith(figures)
    }

    override def abort(): Unit = keeper.aborted(opened.table)

    override def metrics: StateStoreMetrics = metricsWith(Map.empty)

    override def verify(): Unit = lock.verify(stamp)

    override def isCurrent: Boolean = lock.isHeldBy(stamp)

    override def end(): Boolean = lock.release(stamp)

    private def metricsWith(figures: Map[MetricKey, Long]): StateStoreMetrics =
      SparkMetrics.of(
        opened.table.family(family.tableSpec).keyCount,
        opened.table.memoryBytes,
        figures ++ openingFigures + (MetricKey.RetentionFailures -> maintenance.failures)
      )

    private def openingFigures: Map[MetricKey, Long] = opened match {
      case Opened.Hit(_)      => Map(MetricKey.TableHits -> 1L)
      case Opened.Reopened(_) => Map(MetricKey.TableReopens -> 1L)
      case Opened.Reloaded(_) => Map(MetricKey.TableReloads -> 1L, MetricKey.ReloadTime -> loadMs)
    }
  }
}

private[bucketstate] object BucketedStore {

  /** Refuses, with Spark's own errors, what this version of the provider does not do. */
  def requireSupported(
      keySpec: KeyStateEncoderSpec,
      useColumnFamilies: Boolean,
      useMultipleValuesPerKey: Boolean,
      conf: StateStoreConf
  ): Unit = {
    if (conf.enableStateStoreCheckpointIds) throw noCheckpointIds
    if (useColumnFamilies)
      throw StateStoreErrors.multipleColumnFamiliesNotSupported(StoreView.Provider)
    if (useMultipleValuesPerKey) throw StoreView.oneValuePerKey("multipleValuesPerKey")
    keySpec match {
      case _: NoPrefixKeyStateEncoderSpec | _: PrefixKeyScanStateEncoderSpec => ()
      case other                                                             =>
        throw StateStoreErrors.unsupportedOperationException(
          s"${other.getClass.getSimpleName}",
          StoreView.Provider
        )
    }
  }

  private def noCheckpointIds: Throwable = StateStoreErrors.stateStoreCheckpointIdsNotSupported(
    s"${StoreView.Provider} does not support checkpoint ids yet: set " +
      "spark.sql.streaming.stateStore.checkpointFormatVersion to 1."
  )
}
