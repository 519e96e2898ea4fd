package io.bucketstate.rocksdb.state

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Path

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
  Statistics,
  StatsLevel,
  TickerType,
  WriteBatch,
  WriteOptions
}

import io.bucketstate.checkpoint.io.Closing
import io.bucketstate.checkpoint.run.RunFormat
import io.bucketstate.record.{FamilyDescriptor, RecordOp}
import io.bucketstate.rocksdb.{NativeErrors, NativeOptions}

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

  private[this] val gate = new DatabaseGate(folder)
  private[this] val unlogged = new WriteOptions().setDisableWAL(true)
  private[this] val records = options.records
  private[this] var families = initial // by number
  // Of the records that are held beside RocksDB, by family.
  private[this] var parts = initial.map { case (family, _) => family -> records.newPart() }
  private[this] var epoch = records.capture()
  private[this] var dropped = List.empty[ColumnFamilyHandle] // that somebody may still read
  private[this] val states = new CapturedStates(db, gate, records)

  /** Has just these families from now on: makes those that are new, and drops those that are gone, with all their keys. */
  def hold(wanted: Seq[FamilyDescriptor]): Unit = gate.using("could not be changed") {
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
  def change(write: StateChanges => Unit): Unit = gate.using("could not be written") {
    val changes = new StateChanges(
      familyOf,
      (handle, key) => gate.translating("could not be read")(db.get(handle, key)),
      batch => gate.translating("could not be written")(db.write(unlogged, batch)),
      note
    )
    try {
      write(changes)
      changes.flush()
    } finally changes.close()
  }

  private def note(family: Int, op: Byte, record: Array[Byte]): Unit =
    if (RecordOp.isWhole(op)) records.written(parts(family), record, epoch)
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
  ): Array[Byte] = gate.using("could not be tidied") {
    val handle = familyOf(family)
    val at = new ReadOptions().setFillCache(false)
    val batch = new WriteBatch
    var behind: Array[Byte] = null
    var bytes = 0L
    try {
      EntryRange.read(db, handle, at, from, until) { entries =>
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
    gate.using("could not take over the files of a snapshot") {
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
  def capture(version: WrittenVersion): NativeState = gate.using("could not be read") {
    val snapshot = db.getSnapshot
    val byNumber = new Array[ColumnFamilyHandle](families.keysIterator.maxOption.fold(0)(_ + 1))
    families.foreachEntry((id, handle) => byNumber(id) = handle)
    val bytes = families.valuesIterator.map(db.getLongProperty(_, LiveBytes)).sum
    val partOf = Array.tabulate(byNumber.length)(parts.getOrElse(_, 0))
    epoch = records.capture()
    val held =
      new HeldSnapshot(snapshot, new ReadOptions().setSnapshot(snapshot), byNumber, partOf, epoch)
    val state = new NativeState(version, states, held, bytes)
    states.add(held, state)
    state
  }

  /** Whether somebody may still read a state that was captured. */
  def isRead: Boolean = gate.whileOpen(states.nonEmpty)

  /** Whether RocksDB has ever refused to read or write something: what there is may not be whole. */
  def hasFailed: Boolean = gate.hasFailed

  /**
   * Makes a folder of links to its files, and copies of those that change, which hold what it holds now. Writes down what
   * is in memory first.
   *
   * What stands in the way of links says nothing of the database, which goes on. Where it could not write its own files, the
   * next write to it says so.
   */
  def linkTo(target: Path): Unit = gate.whileOpen {
    NativeErrors.linking(folder) {
      val checkpoint = Checkpoint.create(db)
      try checkpoint.createCheckpoint(target.toString)
      finally checkpoint.close()
    }
  }

  /** Asks RocksDB for its figures, which takes it longer than a look-up. */
  def figures(): NativeFigures = gate.using("could not be asked for figures") {
    def count(ticker: TickerType) = statistics.getTickerCount(ticker)
    def bytes(property: String) = db.getAggregatedLongProperty(property)
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
  def endWrites(): Unit = gate.ifOpen(db.cancelAllBackgroundWork(false))

  /**
   * No more is written where RocksDB holds a writer up, or has met an error in the background, as on a full disk; elsewhere
   * nothing happens. Nothing that is written afterwards would ever be in files, so the database counts as one that has
   * failed. Does not wait.
   */
  def endStoppedWrites(): Unit = gate.ifOpen {
    if (Seq(WriteStopped, BackgroundErrors).exists(db.getLongProperty(_) != 0)) {
      gate.fail()
      db.cancelAllBackgroundWork(false)
    }
  }

  private def files(family: ColumnFamilyHandle): Long =
    (0 until db.numberLevels(family))
      .map(level => db.getProperty(family, s"rocksdb.num-files-at-level$level").toLong)
      .sum

  def close(): Unit = {
    // Who waits within RocksDB would be waited for.
    endWrites()
    gate.close {
      Closing.all(
        states.takeAll() ++ families.values ++ dropped ++
          Seq[AutoCloseable](main, unlogged, db, options, statistics)
      )
    }
  }

  private def familyOf(id: Int): ColumnFamilyHandle = families.getOrElse(
    id,
    throw new IllegalStateException(s"$folder holds no column family $id")
  )

  /** What was dropped takes no space from when nobody reads it. */
  private def closeUnread(): Unit = {
    val (kept, unread) = dropped.partition(states.families)
    unread.foreach(_.close())
    dropped = kept
  }
}

object StateDatabase {

  /** What is looked through at a time for what is of no use. */
  private final val PartReadBytes = 8L << 20

  private val LiveBytes = "rocksdb.estimate-live-data-size"
  private val WriteStopped = "rocksdb.is-write-stopped"
  private val BackgroundErrors = "rocksdb.background-errors"

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
