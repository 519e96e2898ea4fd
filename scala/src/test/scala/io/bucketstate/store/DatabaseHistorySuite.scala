package io.bucketstate.store

import java.nio.file.Path
import java.time.Clock
import java.util.UUID
import java.util.concurrent.Executor
import java.util.concurrent.atomic.AtomicLong

import scala.collection.mutable
import scala.util.Random

import io.bucketstate.background.{NeediestFirst, Patience, Ticker}
import io.bucketstate.checkpoint.changelog.ChangelogReader
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, FileStore, WorkFolder}
import io.bucketstate.checkpoint.manifest.{BucketCount, Checkpoint, RepairRules}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.checkpoint.recovery.{Recovered, Recovery}
import io.bucketstate.checkpoint.retention.{Retention, RetentionRules, WinningIds}
import io.bucketstate.checkpoint.run.read.RunAccess
import io.bucketstate.checkpoint.snapshot.{SnapshotTarget, Snapshotter}
import io.bucketstate.checkpoint.sst.SstOptions
import io.bucketstate.error.{BucketstateException, ConflictException}
import io.bucketstate.history.{CheckpointIds, CommitPoint, StoreHistory, Unwritten, UnwrittenBytes}
import io.bucketstate.record.BucketAssigner
import io.bucketstate.rocksdb.follower.{DatabaseSource, Databases, LocalDatabases, StoreDatabase}
import io.bucketstate.rocksdb.state.{
  ExecutorNative,
  LocalStates,
  NativeState,
  StateDatabase,
  WrittenVersion
}
import io.bucketstate.rocksdb.{Databases => NativeDatabases}
import io.bucketstate.table.StateTable
import io.bucketstate.testkit.CommitModels.Model
import io.bucketstate.testkit.StoreHarness.Appended
import io.bucketstate.testkit.{TidySuite, _}

/**
 * Histories of commits, roll backs, reloads, other attempts and failures of storage, at random, with a local database that
 * is written at any instant between and within them: what a table takes of it is the state at that version, exactly. And what
 * the files lead to is what was written.
 */
class DatabaseHistorySuite extends TidySuite {
  import DatabaseHistorySuite._

  for {
    withIds <- Seq(false, true)
    seed <- 1 to Seeds
    lists = seed % 2 == 0
  }
    test(s"a database has what its table has, ids: $withIds, lists: $lists, $seed") {
      TempFolder.use { folder =>
        val history = new History(folder, withIds, new Random(seed.toLong), lists = lists)
        try {
          (1 to 150).foreach(_ => history.anything())
          history.untilTaken()
          assert(history.wrong.isEmpty)
          history.requireRight()
          if (withIds) assert(history.repeated > 0)
        } finally history.close()
      }
    }

  for {
    isSame <- Seq(true, false)
    isThere <- Seq(true, false)
  }
    test(
      s"a version is undone and made again, with the same changes: $isSame, when the database has it: $isThere"
    ) {
      TempFolder.use { folder =>
        val random = new Random(1L)
        val history = new History(folder, true, random, isQuiet = true, versionsInMemory = 2)
        try {
          history.untilTaken()
          val first = Map("key 1" -> Some("first"), "key 2" -> None)
          val base = history.newest
          history.made(first)
          if (isThere) {
            history.fails()
            history.workAll()
            assert(history.isAt(base + 1))
          }
          history.newest = base
          history.made(if (isSame) first else first + ("key 3" -> Some("second")))
          assert((history.repeated > 0) == isSame)
          (1 to 3).foreach { _ =>
            history.workAll()
            history.batch()
          }
          history.untilTaken()
          assert(history.wrong.isEmpty && history.versionsTaken.exists(_ > base + 1))
          history.requireRight()
        } finally history.close()
      }
    }

  test("what is appended to a key that a late attempt has left out is all that the key has") {
    TempFolder.use { folder =>
      val history = new History(folder, false, new Random(1L), isQuiet = true, lists = true)
      try {
        history.made(Map("key 1" -> Some("first"), "key 2" -> Some("first")))
        history.made(Map("key 1" -> Some("+, second"), "key 2" -> Some("+, second")))
        history.replace(1L, Map("key 1" -> Some("late")))
        history.reload()
        history.untilTaken()
        assert(history.wrong.isEmpty && history.versionsTaken.contains(2L))
        history.requireRight()
      } finally history.close()
    }
  }

  /** Version 3 is committed between two reloads of version 2, the later of which was the first. */
  private def outOfOrder(body: History => Unit): Unit = TempFolder.use { folder =>
    val history = new History(folder, withIds = false, new Random(0L), isTold = true)
    try {
      (1 to 2).foreach(_ => history.batch())
      val reload = history.load()
      history.tell(reload)
      history.batch()
      history.workAll()
      history.tell(reload)
      body(history)
    } finally history.close()
  }

  test("a version that a late reload knows nothing of is not passed over: its changelog has it") {
    outOfOrder { history =>
      (1 to 3).foreach(_ => history.batch())
      history.untilTaken()
      assert(history.versionsTaken.exists(_ > 3) && history.wrong.isEmpty)
      history.requireRight()
    }
  }

  test("where that changelog is gone the next batch is told, and nothing later is offered") {
    outOfOrder { history =>
      history.batch()
      history.delete(3L)
      (1 to 2).foreach(_ => history.batch())
      history.workAll()
      assert(history.versionsTaken.forall(_ < 3))
      val failure = intercept[ConflictException](history.batch())
      assert(failure.getMessage.contains("was made on top of it"))
    }
  }
}

object DatabaseHistorySuite {

  private val Seeds = sys.env.get("BUCKETSTATE_HISTORIES").fold(4)(_.toInt)

  private val Retained = RetentionRules(minVersionsToRetain = 4)

  private final class Unexpected extends Error("nobody expects this")

  /**
   * One store's table, files and database. All runs in the caller's thread; what is to be done within a step of another
   * part is done by who calls that part.
   *
   * @param isTold  the database has a history of its own, as the test tells it, and nothing happens by itself
   * @param isQuiet nothing happens by itself
   * @param lists   whether values are appended, too
   */
  private final class History(
      folder: Path,
      withIds: Boolean,
      random: Random,
      isTold: Boolean = false,
      isQuiet: Boolean = false,
      versionsInMemory: Int = 3,
      lists: Boolean = false
  ) {
    private val isCalm = isTold || isQuiet
    private val assigner = new BucketAssigner(4)
    private val ids = new AtomicLong
    private val newId = () => new UUID(0L, ids.incrementAndGet())
    private val stored = new MemoryFileStore
    private val files = new FaultyFileStore(stored)
    private val families = new KnownFamilies(
      if (lists) StoreHarness.Lists else Changes.descriptor(0),
      others = false
    )
    private val checkpoint = checkpointIn(files, "runs")
    private val unwritten = new UnwrittenBytes
    private val history = new StoreHistory(files, isFollowed = true, unwritten)
    private val followed =
      if (isTold) new StoreHistory(files, isFollowed = true, new UnwrittenBytes) else history
    private val recovery = recoveryFrom(checkpoint)
    private val keeper = new TableKeeper(
      recovery.load(_, _),
      history,
      versionsInMemory,
      () => 0L,
      Patience(0L, Ticker.System, () => ()),
      _ => checkpoint.recent.forget()
    )
    private val committer =
      newCommitter()
    private val snapshotter = new Snapshotter(checkpoint, "test", _ => None, 3, Long.MaxValue)
    private val queue = mutable.Queue.empty[Runnable]
    private val threads: Executor = work => { queue += work; () }
    private def newLocal() = new LocalDatabases(
      () => WorkFolder(folder.resolve("local"), temporary = false),
      _ => Nil,
      Some(new LocalStates(folder.resolve("local"), 4, newId)),
      NativeDatabases.Plain,
      ExecutorNative.Limits(16L << 20, 1L << 30),
      newId
    )
    private def newDatabase() = new StoreDatabase(
      followed,
      checkpoint,
      new DatabaseSource(checkpoint, disturbed(newLocal()), (_, _) => ()),
      offered(_, _),
      mostBehind = Long.MaxValue,
      waitMs = 1000L,
      Ticker.System,
      new NeediestFirst(threads)
    )
    private var database = newDatabase()

    private val commits = new CommitModels
    private var models = Map.empty[Long, Model] // of the versions of the present line
    private var attempts = Map.empty[Long, Option[String]] // which was the last one at a version
    private var batches = Map.empty[Long, Map[String, Option[String]]] // what leads to them
    private var depth = 0

    /** That Spark knows. */
    var newest = 0L

    /** Versions at which the table took what the database holds. */
    var versionsTaken: Vector[Long] = Vector.empty

    /** What was taken and is not what the table has. */
    var wrong: Vector[String] = Vector.empty

    /** Commits that were made again, of the very same changes. */
    var repeated = 0
    private val commitIds = mutable.HashSet.empty[UUID]
    private var retired = 0L // versions below this one may have no files any more

    /** One of all that may happen. */
    def anything(): Unit = {
      something()
      require(
        unwritten.total == history.bytes,
        "what waits of all stores is what waits of this one"
      )
    }

    private def something(): Unit = random.nextInt(24) match {
      case 0 | 1 => reload()
      case 2     => // a restart of the query, which goes back to what retention has left
        newest = math.min(newest, math.max(retired, newest - 1 - random.nextInt(3)))
      case 3               => files.failNext(Fault.Before)
      case 4               => files.failAt(files.calls + 1 + random.nextInt(8), Fault.Before)
      case 5               => tried(snapshot())
      case 6               => otherAttempt()
      case 7 if newest > 0 => tried(read(newest))
      case 8 if newest > 1 => tried(retire())
      case 9               => restart()
      case 10              => elsewhere()
      case n if n < 16     => work()
      case _               => tried(batch())
    }

    /** What goes wrong is what storage, the database or somebody else was made to do wrong. */
    private def tried(body: => Unit): Unit =
      try body
      catch { case _: BucketstateException | _: Unexpected => () }

    /** A batch on the newest version; a task that fails leaves nothing behind. */
    def batch(): Unit = {
      val base = newest
      val changes = anyChanges()
      action(base, changes).foreach { id =>
        attempts += base + 1 -> id
        batches += base + 1 -> changes
        newest = base + 1
        // Further actions of a foreachBatch: Spark goes on with the id of the first.
        if (!isCalm && random.nextInt(3) == 0) {
          disturb()
          if (newest == base + 1 && base >= retired) {
            val again = if (random.nextInt(4) > 0) changes else anyChanges()
            // Without ids the version is what was written last.
            tried(action(base, again).foreach { _ =>
              if (!withIds) batches += base + 1 -> again
            })
          }
        }
        // Spark does not hear of it, and tries again.
        if (!isCalm && random.nextInt(6) == 0) newest = math.max(base, retired)
      }
    }

    /** A batch of just these changes. */
    def made(changes: Map[String, Option[String]]): Unit = {
      attempts += newest + 1 -> action(newest, changes).get
      newest += 1
    }

    /** A task that ends without a commit. */
    def fails(): Unit = {
      val (table, _) = open(newest)
      database.opened()
      keeper.aborted(table)
    }

    /** Whether the database holds a version, and the table reads from it or will. */
    def isAt(version: Long): Boolean =
      database.stateAt(Attempt(version, attempts(version)), keeper.commitOf(version)).exists {
        state =>
          state.release()
          true
      }

    private def anyChanges(): Map[String, Option[String]] =
      (0 to random.nextInt(12)).map { _ =>
        s"key ${random.nextInt(30)}" -> Option.when(random.nextInt(3) > 0) {
          (if (lists && random.nextBoolean()) "+" else "") + s"v${ids.incrementAndGet()}"
        }
      }.toMap

    /** A task that makes the version after this one; the id of what it has committed. */
    private def action(
        base: Long,
        changes: Map[String, Option[String]]
    ): Option[Option[String]] = {
      val (table, before) = open(base)
      // A table that is forgotten meanwhile was made of it all the same.
      val on = keeper.commitOf(base)
      try {
        database.opened()
        change(table, changes)
        disturb()
        if (!isCalm && random.nextInt(8) == 0) {
          keeper.aborted(table)
          None
        } else {
          val id = commit(table, base, on, before, changes)
          database.wake()
          Some(id)
        }
      } catch {
        case failure: Throwable =>
          keeper.aborted(table)
          keeper.forget()
          throw failure
      }
    }

    private def commit(
        table: StateTable,
        base: Long,
        on: Option[UUID],
        before: Model,
        changes: Map[String, Option[String]]
    ): Option[String] = {
      val open = table.openChanges
      val committed = committer.commit(
        open,
        CheckpointIds(Option.when(withIds)(newId().toString), attempts.getOrElse(base, None)),
        newId(),
        on,
        writtenUpTo = base + 1
      )
      val commitId = committed.commitId
      if (!commitIds.add(commitId)) repeated += 1
      val attempt = Attempt(base + 1, committed.ids.own)
      val model = commits.made(attempt, commitId, before, changes)
      models = models.filter(_._1 <= base) + (base + 1 -> model)
      val kept = new Unwritten.Changes(open, attempt, commitId, 1L)
      keeper.committed(table, commitId, attempt.checkpointId, Some(kept))
      if (isTold) followed.committed(attempt, commitId, Map.empty, Some(kept), table.oldest, 0L)
      attempt.checkpointId
    }

    /** As `OpenStore` opens a version for writing; what that holds. */
    private def open(version: Long): (StateTable, Model) = {
      if (!withIds && version > 0 && keeper.commitOf(version).isDefined) {
        // The check of the lineage, which a task makes before it commits.
        val found = ChangelogReader.readHeader(files, Attempt(version)).commitId
        if (!keeper.commitOf(version).contains(found)) keeper.forget()
      }
      val attempt = attemptAt(version)
      val opened = keeper.openForWrite(version, attempt.checkpointId)
      val model = modelOf(attempt, opened)
      if (isTold) followed.settle(opened.table.oldest)
      (opened.table, model)
    }

    private def attemptAt(version: Long) = Attempt(version, attempts.getOrElse(version, None))

    def load(): Recovered = recovery.load(newest, None)

    def tell(reload: Recovered): Unit = followed.begin(reload, None, Map.empty)

    def delete(version: Long): Unit = files.delete(Attempt(version).changelog)

    /** What a version holds that was opened. Where that was made of the files, they are held to it. */
    private def modelOf(version: Attempt, opened: Opened): Model = opened match {
      case Opened.Reloaded(recovered, isKept) =>
        val model = commits.of(version, recovered)
        // Whatever comes of the reading: this is the table now.
        if (isKept) models = Map(version.version -> model)
        requireHolds(recovered.table, version.version, model)
        if (isKept) database.deleteFailed()
        model
      case _ => models(version.version)
    }

    private def requireHolds(table: StateTable, version: Long, model: Model): Unit = {
      val found = StoreHarness.contents(table, version)
      require(found == model, s"version $version holds $found, and should hold $model")
    }

    /** What a reader has opened stays as it was, whoever comes between. */
    private def read(version: Long): Unit = {
      val attempt = attemptAt(version)
      val opened = keeper.openForRead(version, attempt.checkpointId)
      try {
        val model = modelOf(attempt, opened)
        disturb()
        requireHolds(opened.table, version, model)
      } finally keeper.endRead(opened.table, version)
    }

    /** What whoever starts anew finds of the newest version, when nothing goes wrong any more. */
    def requireRight(): Unit = {
      val fresh = checkpointIn(stored, "fresh")
      try {
        val version = attemptAt(newest)
        val recovered = recoveryFrom(fresh).load(newest, version.checkpointId)
        requireHolds(recovered.table, newest, commits.of(version, recovered))
      } finally fresh.runs.close()
    }

    private def checkpointIn(store: FileStore, runsIn: String): Checkpoint = {
      val runs = new RunAccess(
        store,
        SstOptions(BlockCodec.Lz4, Runs.BlockBytes),
        () => WorkFolder(folder.resolve(runsIn), temporary = true),
        Long.MaxValue
      )
      new Checkpoint(store, BucketCount.of(assigner, store), families, runs)
    }

    private def recoveryFrom(checkpoint: Checkpoint): Recovery =
      new Recovery(checkpoint, RepairRules(enabled = true, 1, 1000))

    def reload(): Unit = keeper.forget()

    /**
     * Another executor does the batch again that this one has done, with other values, and writes the version anew: with
     * ids in a file of its own. Of lists it leaves out some that the next version has, perhaps to append to them.
     */
    private def otherAttempt(): Unit = if (newest > 0) {
      val version = newest - random.nextInt(2)
      if (version > math.max(0L, retired)) tried {
        val changes = batches(version).map { case (k, v) => k -> v.map(_ + "'") }
        // Else there would be fewer keys than that has counted.
        val inNext =
          if (lists && version < newest) batches(newest).filter(_._2.isDefined)
          else Map.empty[String, Option[String]]
        replace(
          version,
          changes.filterNot { case (k, _) => inNext.contains(k) && random.nextBoolean() }
        )
      }
    }

    /** Another executor, which was given up for lost, makes a version of these changes. */
    def replace(version: Long, changes: Map[String, Option[String]]): Unit = {
      val other = newCommitter()
      try { val _ = committed(version - 1, changes, other) }
      finally other.close()
    }

    /** What another executor, which loads the version first, makes on top of it. */
    private def committed(
        base: Long,
        changes: Map[String, Option[String]],
        by: Committer
    ): Committed = {
      val on = attemptAt(base)
      val recovered = recovery.load(base, on.checkpointId)
      val before = commits.of(on, recovered)
      requireHolds(recovered.table, base, before)
      recovered.table.begin(base)
      change(recovered.table, changes)
      val made = by.commit(
        recovered.table.openChanges,
        CheckpointIds(Option.when(withIds)(newId().toString), on.checkpointId),
        newId(),
        recovered.commitId,
        writtenUpTo = base + 1
      )
      val _ = commits.made(Attempt(base + 1, made.ids.own), made.commitId, before, changes)
      made
    }

    private def newCommitter(): Committer =
      new Committer(files, checkpoint.recent, checkpoint.buckets, BlockCodec.Lz4, Ticker.System)

    /** The partition's tasks run on another executor for some batches. */
    private def elsewhere(): Unit = {
      val other = newCommitter()
      try
        (0 to random.nextInt(3)).foreach { _ =>
          tried {
            val (base, changes) = (newest, anyChanges())
            val made = committed(base, changes, other)
            attempts += base + 1 -> made.ids.own
            batches += base + 1 -> changes
            newest = base + 1
          }
        }
      finally other.close()
    }

    /** The next process on the same machine, which finds what this one has left for it. */
    private def restart(): Unit = {
      workAll()
      keeper.forget()
      database.close()
      database = newDatabase()
    }

    private def snapshot(): Unit = history.line.foreach { line =>
      line.at(line.settled).filter(_.version > 0).foreach { step =>
        val target = SnapshotTarget(step.point.attempt, step.point.commitId)
        database.published(snapshotter.take(target).manifest)
      }
    }

    private def retire(): Unit = {
      retired = math.max(retired, Retained.oldest(newest))
      val id = attempts.getOrElse(newest, None)
      val winners = WinningIds.leadingTo(files, newest, id, WinningIds.WithoutIds)
      new Retention(files, Clock.systemUTC, Retained).run(newest, winners = winners)
      ()
    }

    /** The database's thread gets its turn. */
    def work(): Unit = if (queue.nonEmpty) queue.dequeue().run()

    /** Whoever else has something to do comes between, at times. */
    private def disturb(): Unit = if (!isCalm && depth < 2 && random.nextInt(4) == 0) {
      depth += 1
      try
        random.nextInt(4) match {
          case 0 => reload()
          case 1 => work()
          case 2 => files.failNext(Fault.Before)
          case _ => if (depth == 1 && !history.line.exists(_ => isWriting)) tried(batch())
        }
      finally depth -= 1
    }

    /** What nobody expects, of whatever kind. */
    private def die(): Unit = if (!isCalm && random.nextInt(12) == 0) throw new Unexpected

    private def isWriting: Boolean = {
      var open = true
      keeper.whenIdle(_ => open = false)
      open
    }

    /** What the table takes is exactly what it has itself. */
    private def offered(at: CommitPoint, state: NativeState): Boolean = {
      disturb()
      val content = TextRecords.contentOf(state, 0, 4)
      die()
      val isTaken = keeper.advance(at, state)
      if (isTaken) {
        versionsTaken :+= at.version
        val expected = models.get(at.version)
        if (!expected.contains(content)) wrong :+= s"$at: found $content, expected $expected"
      }
      isTaken
    }

    private def disturbed(to: LocalDatabases): Databases = new Databases {
      override def create(): StateDatabase = {
        disturb()
        die()
        to.create()
      }
      override def resume(isWanted: (Attempt, UUID) => Boolean) = {
        die()
        val resumed = to.resume(isWanted)
        disturb()
        resumed
      }
      override def areLasting: Boolean = to.areLasting
      override def leave(
          database: StateDatabase,
          version: WrittenVersion
      ): Unit = {
        to.leave(database, version)
        disturb()
        die()
      }
      override def forget(): Unit = {
        to.forget()
        die()
      }
      override def discard(database: StateDatabase): Unit = {
        to.discard(database)
        die()
      }
      override def close(): Unit = to.close()
    }

    private def change(table: StateTable, changes: Map[String, Option[String]]): Unit = {
      val family = table.families.head
      changes.foreach {
        case (key, Some(Appended(more))) => family.merge(TextRecords.record(key, more, assigner))
        case (key, Some(value))          => family.put(TextRecords.record(key, value, assigner))
        case (key, None)                 => family.remove(TextRecords.key(key, assigner))
      }
    }

    /** After all that, batches go on, and the table comes to read from the database. */
    def untilTaken(): Unit = {
      val before = versionsTaken.size
      var tries = 0
      var last = Option.empty[Throwable]
      while (versionsTaken.size == before) {
        tries += 1
        require(tries < 50, s"nothing is taken but $versionsTaken: ${followed.line}, last $last")
        try batch()
        catch { case e @ (_: BucketstateException | _: Unexpected) => last = Some(e) }
        workAll()
      }
    }

    def workAll(): Unit = while (queue.nonEmpty) work()

    def close(): Unit = {
      workAll()
      keeper.forget()
      database.close()
      committer.close()
      checkpoint.runs.close()
    }
  }
}
