package io.bucketstate.rocksdb

import java.lang.ref.WeakReference
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path
import java.util.concurrent.locks.StampedLock

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.rocksdb.{
  Checkpoint,
  ColumnFamilyDescriptor,
  ColumnFamilyHandle,
  DBOptions,
  HistogramType,
  IngestExternalFileOptions,
  ReadOptions,
  RocksDB,
  RocksDBException,
  RocksIterator,
  Slice,
  Snapshot,
  Statistics,
  StatsLevel,
  TickerType,
  WriteBatch,
  WriteOptions
}

import io.bucketstate.checkpoint.io.Closing
import io.bucketstate.checkpoint.run.RunFormat
import io.bucketstate.error.CorruptException
import io.bucketstate.table.{FamilyDescriptor, RecordBuffer, RecordOp}

/**
 * One RocksDB database on a local disk: the state of one store at one version, a native column family for each of its
 * column families. It is a cache of the checkpoint, and writes no log of its own: whatever goes wrong, another one is made
 * of the checkpoint.
 *
 * Flink's RocksDB backend keeps a database for each operator in the same way (FLINK-3718).
 *
 * Threads: `change`, `remove`, `ingest`, `hold` belong to one at a time; any number may read the states that [[capture]]
 * gives, which throw `CorruptException` where RocksDB cannot read. After `close` they fail; it waits for those that are
 * reading.
 *
 * @param db      closed with this
 * @param initial families that it has, by number
 * @param options of this database, closed with it
 */
final class StateDatabase private (
    val folder: Path,
    db: RocksDB,
    main: ColumnFamilyHandle,
    initial: Map[Int, ColumnFamilyHandle],
    options: NativeOptions,
    statistics: Statistics
) extends AutoCloseable {
  import StateDatabase._

  private[this] val gate = new StampedLock
  @volatile private[this] var isOpen = true
  @volatile private[this] var failed = false
  private[this] val unlogged = new WriteOptions().setDisableWAL(true)
  private[this] val records = options.records
  private[this] var families = initial // by number
  // Of the records that are held beside RocksDB, by family.
  private[this] var parts = initial.map { case (family, _) => family -> records.newPart() }
  private[this] var epoch = records.capture()
  private[this] var dropped = List.empty[ColumnFamilyHandle] // that somebody may still read
  // By what they hold: a table that was dropped releases none of its states, it is just not there any more.
  private[this] val states = mutable.HashMap.empty[HeldSnapshot, WeakReference[NativeState]]

  private[this] val reads = new NativeReads {

    override def release(state: NativeState): Unit = {
      val stamp = gate.readLock()
      try
        if (isOpen && states.synchronized(states.remove(state.held)).isDefined)
          dispose(state.held)
      finally gate.unlockRead(stamp)
    }

    override def find(held: HeldSnapshot, family: Int, key: RecordBuffer): Array[Byte] = {
      val stamp = gate.readLock()
      try {
        requireOpen()
        val part = held.parts(family)
        val known = records.find(part, key, held.epoch)
        if (known != null) known
        else {
          val record = read(held.byNumber(family), held.at, family, key)
          if (record != null) records.found(part, key, record, held.epoch)
          record
        }
      } catch {
        case e: RocksDBException => throw unreadable(e)
      } finally gate.unlockRead(stamp)
    }

    private def read(
        handle: ColumnFamilyHandle,
        at: ReadOptions,
        family: Int,
        key: RecordBuffer
    ): Array[Byte] = {
      val scratch = Scratch.ofThread
      val keyLength = scratch.putKey(family, key)
      var room = scratch.value
      var length = db.get(handle, at, scratch.key, 0, keyLength, room, 0, room.length)
      if (length > room.length) {
        scratch.growValue(length)
        room = scratch.value
        length = db.get(handle, at, scratch.key, 0, keyLength, room, 0, room.length)
      }
      if (length < 0) null else scratch.record(keyLength, length)
    }

    override def mayHold(held: HeldSnapshot, family: Int, key: RecordBuffer): Boolean = {
      val stamp = gate.readLock()
      try {
        requireOpen()
        val scratch = Scratch.ofThread
        val keyLength = scratch.putKey(family, key)
        db.keyMayExist(held.byNumber(family), held.at, scratch.key, 0, keyLength, null)
      } finally gate.unlockRead(stamp)
    }

    override def iterate(
        handle: ColumnFamilyHandle,
        snapshot: Snapshot,
        from: Array[Byte],
        until: Array[Byte]
    )(read: RocksIterator => Unit): Unit = whileOpen {
      val at = new ReadOptions().setSnapshot(snapshot).setTotalOrderSeek(true).setPinData(true)
      try between(handle, at, from, until)(read)
      catch { case e: RocksDBException => throw unreadable(e) }
    }
  }

  /** Has just these families from now on: makes those that are new, and drops those that are gone, with all their keys. */
  def hold(wanted: Seq[FamilyDescriptor]): Unit = using("could not be changed") {
    // A number is never given again, and an encoding may take another's place.
    val known = wanted.iterator.map(_.id).toSet
    families.keysIterator.filterNot(known).toList.foreach { id =>
      db.dropColumnFamily(families(id))
      dropped ::= families(id)
      families -= id
    }
    closeUnread()
    wanted.filterNot(d => families.contains(d.id)).foreach { d =>
      families += d.id -> db.createColumnFamily(nativeOf(d, options))
      parts += d.id -> records.newPart()
    }
  }

  /** Writes changes to families that it holds, in parts: a reader sees none of them before the next [[capture]]. */
  def change(write: StateChanges => Unit): Unit = using("could not be written") {
    val changes = new StateChanges(
      familyOf,
      (handle, key) => translating("could not be read")(db.get(handle, key)),
      batch => translating("could not be written")(db.write(unlogged, batch)),
      note
    )
    try {
      write(changes)
      changes.flush()
    } finally changes.close()
  }

  private def note(family: Int, op: Byte, record: Array[Byte]): Unit =
    if (op == RecordOp.Put) records.written(parts(family), record, epoch)
    else records.changed(parts(family), record, epoch)

  /**
   * Takes the records of a bucket away that are of no use to anybody. The writer's. In parts: [[close]] waits for one of
   * them at most, and what is to be removed takes little memory, however many these are.
   */
  def remove(family: Int, bucket: Int)(isOver: Array[Byte] => Boolean): Unit = {
    val prefix = RunFormat.prefix(family, bucket)
    val until = RunFormat.seekKey(prefix + 1)
    var from = RunFormat.seekKey(prefix)
    while (from != null) from = removePart(family, from, until, isOver)
  }

  /** The first key that was not looked at; null at the end. */
  private def removePart(
      family: Int,
      from: Array[Byte],
      until: Array[Byte],
      isOver: Array[Byte] => Boolean
  ): Array[Byte] = using("could not be tidied") {
    val handle = familyOf(family)
    val at = new ReadOptions().setFillCache(false)
    val batch = new WriteBatch
    var behind: Array[Byte] = null
    var bytes = 0L
    try {
      between(handle, at, from, until) { entries =>
        while (behind == null && entries.isValid) {
          val (key, value) = (entries.key(), entries.value())
          bytes += (key.length + value.length).toLong
          val record = StoredValues.record(key, key.length, value, value.length)
          if (record == null || isOver(record)) batch.delete(handle, key)
          entries.next()
          val isFull = bytes >= PartReadBytes || batch.getDataSize >= StateChanges.PartBytes
          if (isFull && entries.isValid) behind = entries.key()
        }
      }
      if (batch.count > 0) db.write(unlogged, batch)
    } finally batch.close()
    behind
  }

  /**
   * Takes over files as a run has them, newer than all that is there: their entries hide older ones. They vanish from
   * where they are.
   *
   * @param family of whose keys there are any in the files; of others they are hidden
   * @param files  no key is in two of them
   * @param mixed  whether they have keys of other families, too
   */
  def ingest(family: Int, files: Seq[Path], mixed: Boolean): Unit =
    using("could not take over the files of a snapshot") {
      val handle = familyOf(family)
      val how = new IngestExternalFileOptions()
        .setMoveFiles(true)
        .setSnapshotConsistency(true)
        .setAllowGlobalSeqNo(true)
        .setWriteGlobalSeqno(false) // the file may be the checkpoint's own, under a second name
      try {
        parts += family -> records.newPart() // what is known of its keys may be hidden
        db.ingestExternalFile(handle, files.map(_.toString).asJava, how)
        if (mixed) {
          val (first, behind) = (RunFormat.seekKey(RunFormat.prefix(family, 0)), behindOf(family))
          db.deleteRange(handle, unlogged, Array.emptyByteArray, first)
          db.deleteRange(handle, unlogged, behind, Last)
        }
      } finally how.close()
    }

  /** What it holds now, which must be this version. */
  def capture(version: WrittenVersion): NativeState = using("could not be read") {
    val snapshot = db.getSnapshot
    val byNumber = new Array[ColumnFamilyHandle](families.keysIterator.maxOption.fold(0)(_ + 1))
    families.foreachEntry((id, handle) => byNumber(id) = handle)
    val bytes = families.valuesIterator.map(db.getLongProperty(_, LiveBytes)).sum
    val partOf = Array.tabulate(byNumber.length)(parts.getOrElse(_, 0))
    epoch = records.capture()
    val held =
      new HeldSnapshot(snapshot, new ReadOptions().setSnapshot(snapshot), byNumber, partOf, epoch)
    val state = new NativeState(version, reads, held, bytes)
    states.synchronized {
      disposeUnreachable()
      states(held) = new WeakReference(state)
    }
    state
  }

  /** Whether somebody may still read a state that was captured. */
  def isRead: Boolean = whileOpen {
    states.synchronized {
      disposeUnreachable()
      states.nonEmpty
    }
  }

  /** Whether RocksDB has ever refused to read or write something: what there is may not be whole. */
  def hasFailed: Boolean = failed

  /**
   * Makes a folder of links to its files, and copies of those that change, which hold what it holds now. Writes down what
   * is in memory first.
   */
  def linkTo(target: Path): Unit = using("could not be linked") {
    val checkpoint = Checkpoint.create(db)
    try checkpoint.createCheckpoint(target.toString)
    finally checkpoint.close()
  }

  /** Asks RocksDB for its figures, which takes it longer than a look-up. */
  def figures(): NativeFigures = using("could not be asked for figures") {
    def count(of: TickerType) = statistics.getTickerCount(of)
    def bytes(of: String) = db.getAggregatedLongProperty(of)
    NativeFigures(
      count(TickerType.BLOCK_CACHE_HIT),
      count(TickerType.BLOCK_CACHE_MISS),
      count(TickerType.FLUSH_WRITE_BYTES),
      count(TickerType.COMPACT_WRITE_BYTES),
      statistics.getHistogramData(HistogramType.COMPACTION_TIME).getSum / 1000,
      count(TickerType.STALL_MICROS) / 1000,
      bytes("rocksdb.live-sst-files-size"),
      families.valuesIterator.map(files).sum,
      bytes("rocksdb.cur-size-all-mem-tables"),
      bytes("rocksdb.estimate-table-readers-mem")
    )
  }

  /**
   * No more is written: a writer that RocksDB holds up until there is room fails at once. What is there can be read until
   * [[close]]. Does not wait.
   */
  def endWrites(): Unit = {
    val stamp = gate.readLock()
    try if (isOpen) db.cancelAllBackgroundWork(false)
    finally gate.unlockRead(stamp)
  }

  private def files(family: ColumnFamilyHandle): Long =
    Levels.map(level => db.getProperty(family, s"rocksdb.num-files-at-level$level").toLong).sum

  def close(): Unit = {
    // Who waits within RocksDB would be waited for.
    endWrites()
    val stamp = gate.writeLock()
    try
      if (isOpen) {
        isOpen = false
        val held = states.synchronized {
          val all = states.keysIterator.toSeq
          states.clear()
          all
        }
        Closing.all(
          held.map[AutoCloseable](one => () => dispose(one)) ++ families.values ++ dropped ++
            Seq[AutoCloseable](main, unlogged, db, options, statistics)
        )
      }
    finally gate.unlockWrite(stamp)
  }

  private def dispose(held: HeldSnapshot): Unit = {
    held.at.close()
    db.releaseSnapshot(held.snapshot)
    held.snapshot.close()
  }

  /** Reads the entries from a key on and before another one. Closes `at`. */
  private def between(
      handle: ColumnFamilyHandle,
      at: ReadOptions,
      from: Array[Byte],
      until: Array[Byte]
  )(read: RocksIterator => Unit): Unit = {
    val bound = new Slice(until)
    val iterator = db.newIterator(handle, at.setIterateUpperBound(bound))
    try {
      iterator.seek(from)
      read(iterator)
      iterator.status()
    } finally {
      iterator.close()
      at.close()
      bound.close()
    }
  }

  /** With the lock of the states held. */
  private def disposeUnreachable(): Unit =
    states.collect { case (left, of) if of.get == null => left }.foreach { left =>
      states -= left
      dispose(left)
    }

  /** Asking again would not help: who reads from it is to begin anew. */
  private def unreadable(cause: RocksDBException): CorruptException = {
    failed = true
    NativeErrors.unreadable(folder, cause)
  }

  private def requireOpen(): Unit = if (!isOpen) throw NativeErrors.closed(folder)

  private def familyOf(id: Int): ColumnFamilyHandle = families.getOrElse(
    id,
    throw new IllegalStateException(s"$folder holds no column family $id")
  )

  /** What was dropped takes no space from when nobody reads it. */
  private def closeUnread(): Unit = {
    val read = states.synchronized(states.keysIterator.flatMap(_.byNumber).toSet)
    val (kept, unread) = dropped.partition(read)
    unread.foreach(_.close())
    dropped = kept
  }

  private def using[A](problem: String)(body: => A): A = whileOpen(translating(problem)(body))

  /** Runs `body` while the database is open. Look-ups, which are to allocate nothing, do the same by themselves. */
  private def whileOpen[A](body: => A): A = {
    val stamp = gate.readLock()
    try {
      requireOpen()
      body
    } finally gate.unlockRead(stamp)
  }

  private def translating[A](problem: String)(body: => A): A =
    try body
    catch {
      case e: RocksDBException =>
        failed = true
        throw NativeErrors.failed(folder, problem, e)
    }
}

object StateDatabase {

  /** As many as there are unless somebody says otherwise; of others nothing is asked. */
  private val Levels = 0 to 6

  /** What is looked through at a time for what is of no use. */
  private final val PartReadBytes = 8L << 20

  private val LiveBytes = "rocksdb.estimate-live-data-size"

  /** Behind all keys there can be. */
  private val Last = Array.fill[Byte](8)(-1)

  /** What lies behind all keys of a family. */
  private def behindOf(family: Int): Array[Byte] =
    if (family == RunFormat.MaxFamily) Last
    else RunFormat.seekKey(RunFormat.prefix(family + 1, 0))

  /**
   * An empty database in a folder that has none. Throws `UnavailableException` when that cannot be, and `InvalidException`
   * when RocksDB opens none with these options.
   *
   * @param options closed with it, also when this throws
   */
  def create(folder: Path, options: NativeOptions): StateDatabase =
    closingIfFailed(options)(at(folder, options.db, options, Nil))

  /**
   * The database whose files are in a folder, with the families that it was left with. Throws as [[create]] does when that
   * cannot be.
   *
   * @param options closed with it, also when this throws
   */
  def open(folder: Path, options: NativeOptions, families: Seq[FamilyDescriptor]): StateDatabase =
    closingIfFailed(options) {
      val strict = options.db.setCreateIfMissing(false).setCreateMissingColumnFamilies(false)
      at(folder, strict, options, families)
    }

  private def at(
      folder: Path,
      db: DBOptions,
      options: NativeOptions,
      families: Seq[FamilyDescriptor]
  ): StateDatabase = {
    val statistics = new Statistics
    closingIfFailed(statistics) {
      statistics.setStatsLevel(StatsLevel.EXCEPT_DETAILED_TIMERS)
      val main =
        new ColumnFamilyDescriptor(RocksDB.DEFAULT_COLUMN_FAMILY, options.family("default"))
      val all = main +: families.map(nativeOf(_, options))
      val handles = new java.util.ArrayList[ColumnFamilyHandle]()
      val opened = NativeErrors.opening(folder) {
        RocksDB.open(db.setStatistics(statistics), folder.toString, all.asJava, handles)
      }
      val byNumber = families.map(_.id).zip(handles.asScala.tail).toMap
      new StateDatabase(folder, opened, handles.get(0), byNumber, options, statistics)
    }
  }

  private def closingIfFailed[A](made: AutoCloseable)(body: => A): A =
    try body
    catch {
      case failure: Throwable =>
        made.close()
        throw failure
    }

  private def nativeOf(family: FamilyDescriptor, options: NativeOptions) =
    new ColumnFamilyDescriptor(
      s"${family.id} ${family.name}".getBytes(UTF_8),
      options.family(family.name)
    )
}
