package io.bucketstate.spark

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.spark.TaskContext
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.util.TaskFailureListener

import io.bucketstate.background.ClocksAndIds
import io.bucketstate.checkpoint.io.{Attempt, FileStores}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.config.StoreConfig
import io.bucketstate.error.InvalidException
import io.bucketstate.store.{OpenStore, ReadSession, WriteSession}
import io.bucketstate.table.StateTable
import io.bucketstate.watch.{StoreLabel, WatchedStore}

/**
 * An [[OpenStore]] as Spark knows it: rows and schemas for bytes, Spark's error classes, and ends that come
 * with the end of a task or of the session. Thread-safe.
 *
 * @param unknown why nothing may be written, where it is not known whose settings are wanted
 */
private[bucketstate] final class BucketedStore(
    definition: StoreDefinition,
    config: StoreConfig,
    conf: StateStoreConf,
    hadoopConf: Configuration,
    origins: ClocksAndIds,
    unknown: Option[InvalidException]
) extends EndsWithSession {
  val id: StateStoreId = definition.id

  // Who only reads takes it from the checkpoint, whatever the settings of the session are meant for.
  private[this] val wanted = Try(config.timeBuckets.map(Ageing.of(definition, _)))
  private[this] val refusal = unknown.orElse(wanted.failed.toOption)
  private[this] val ageing = wanted.toOption.flatten
  private[this] val registry =
    new FamilyRegistry(definition.default, definition.useColumnFamilies, ageing)
  private[this] val validator =
    new RowValidator(id, definition.keySchema, definition.valueSchema, conf)
  private[this] val watched = new WatchedStore(
    StoreLabel(
      SparkInternals.runId(hadoopConf).fold("")(_.toString),
      id.operatorId,
      id.partitionId,
      id.storeName
    ),
    () => origins.ticker.nanos
  )
  private[this] val store = OpenStore(
    FileStores.forFolder(id.storeCheckpointLocation(), hadoopConf, config.objectStores),
    new KnownFamilies(
      registry.default.descriptor(0),
      definition.useColumnFamilies,
      ageing.map(_.expiry),
      config.exactKeyCount
    ),
    config,
    origins,
    new SparkHost(id, conf, hadoopConf, registry, validator, config.objectStores, origins.clock)
  )

  try SessionEnd.tell(this)
  catch {
    case failure: Throwable =>
      store.closeForGood()
      throw failure
  }

  override def name: String = id.toString

  /**
   * @param checkpointId which attempt at `version` to build on. Not looked at when ids are turned off,
   *                     as in Spark's RocksDB provider.
   * @param loadEmpty    whether the version is to be empty, whatever the checkpoint has of it: what is committed is then a
   *                     state by itself, without a changelog
   * @param reader       what the same task has read the version with, if it has: its rows and ours must
   *                     be of one commit
   */
  def openForWrite(
      version: Long,
      checkpointId: Option[String],
      forceSnapshot: Boolean,
      loadEmpty: Boolean,
      reader: Option[BucketedReadStore] = None
  ): StateStore = watched.opening {
    requireVersion(version)
    // A batch is told before it has worked for nothing. Spark's state reader writes nothing.
    refusal.filter(_ => SparkInternals.isOfBatch(hadoopConf)).foreach(throw _)
    if (loadEmpty) {
      require(checkpointId.isEmpty, "stateStoreCkptId should be empty when loadEmpty is true")
      store.openEmpty(version)(writeStore(version, _))
    } else {
      val base = Attempt(version, checkpointId)
      store.openForWrite(base, reader.map(_.session), forceSnapshot)(writeStore(version, _))
    }
  }

  /**
   * @param checkpointId looked at even when ids are turned off: the state reader passes on what the
   *                     query recorded, in a session that need not have the query's settings
   */
  def openForRead(version: Long, checkpointId: Option[String]): ReadStateStore = {
    requireVersion(version)
    watched.opening {
      endingIfFailed(store.openForRead(Attempt(version, checkpointId))) { session =>
        val read = new BucketedReadStore(id, viewsOf(session.table, version), validator, session)
        // Spark's state reader reads as if for a run, of which nobody would ever say that it has ended.
        onTaskEnd(
          () => read.isOpen && SparkInternals.isOfBatch(hadoopConf),
          () => read.endIfOpen(),
          () => ()
        )
        read
      }
    }
  }

  /**
   * The state at `to` by way of the state at `from` as the checkpoint gives it, in a table of its own:
   * for the state reader.
   */
  def replay(
      from: Long,
      fromId: Option[String],
      to: Long,
      toId: Option[String]
  ): ReplayedState = {
    requireReplay(from, to)
    endingIfFailed(store.replay(Attempt(from, fromId), Attempt(to, toId))) { session =>
      new ReplayedState(id, session, viewsOf(session.table, _), validator)
    }
  }

  /** The changes of the versions `from` to `to`, as Spark's change feed wants them. */
  def changes(
      from: Long,
      to: Long,
      columnFamily: Option[String],
      checkpointId: Option[String]
  ): ChangeRecords = {
    requireReplay(from, to)
    val family = columnFamily.getOrElse(registry.default.name)
    val schema = registry.of(family).getOrElse {
      throw StateStoreErrors.unsupportedOperationOnMissingColumnFamily("readChangeFeed", family)
    }
    val decoder = new ChangeDecoder(schema)
    val changes = store.changes(from, Attempt(to, checkpointId), family)
    val rows = changes.flatMap(decoder.decode)
    def telling[A](read: => A): A =
      try read
      catch { case failure: Throwable => throw SparkErrors.cannotLoad(id, failure) }
    new ChangeRecords(() => telling(rows.nextOption()), () => telling(changes.close()))
  }

  def maintain(): Unit = store.maintain()

  /** Waits for a task that still writes, within the lock's time limit; what comes after that is the store's own matter. */
  def close(): Unit =
    try {
      store.close()
      ()
    } finally forget()

  /** Closes the store; the next session's maintenance may still find it, and is not in the wrong. */
  override def sessionEnded(): Unit =
    try {
      store.closeForGood()
      ()
    } finally forget()

  private def forget(): Unit =
    try SessionEnd.forget(this)
    finally watched.closed()

  private def writeStore(version: Long, session: WriteSession): StateStore = {
    val views = viewsOf(session.table, version + 1)
    val write =
      new BucketedStateStore(id, version, views, validator, session, watched, refusal)
    onTaskEnd(() => write.isOpen, () => write.abortIfOpen(), () => session.end())
    write
  }

  /** Nobody else would end a session that is not handed out. */
  private def endingIfFailed[A](session: ReadSession)(take: ReadSession => A): A =
    try take(session)
    catch {
      case failure: Throwable =>
        session.end()
        throw failure
    }

  private def viewsOf(table: StateTable, version: Long): FamilyViews =
    new FamilyViews(registry, table, version, store.assigner)

  private def requireVersion(version: Long): Unit =
    if (version < 0) throw SparkInternals.unexpectedVersion(version)

  private def requireReplay(from: Long, to: Long): Unit = {
    if (from < 1) throw SparkInternals.unexpectedVersion(from)
    if (to < from) throw SparkInternals.unexpectedVersion(to)
  }

  /**
   * Spark runs these when the task ends, however it ends; outside a task there is nobody to run them.
   *
   * @param isAtWork asked where the task fails, before the others are run: whether the store may be to blame
   */
  private def onTaskEnd(isAtWork: () => Boolean, first: () => Unit, last: () => Unit): Unit =
    Option(TaskContext.get()).foreach { context =>
      context
        .addTaskFailureListener(new TaskFailureListener {
          // A look-up that fails ends its task, and costs nothing while it does not.
          override def onTaskFailure(task: TaskContext, failure: Throwable): Unit =
            if (isAtWork()) watched.taskFailed(failure)
        })
        .addTaskCompletionListener[Unit]((_: TaskContext) =>
          try first()
          finally last()
        )
    }
}
