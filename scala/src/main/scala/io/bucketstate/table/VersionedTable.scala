package io.bucketstate.table

import java.util.ArrayDeque
import java.util.concurrent.atomic.{AtomicReference, LongAdder}

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.error.InvalidException

/**
 * The state of one store on the heap, at several versions at once, without copying any of it:
 * versions hang on single entries.
 *
 * A put links a new [[Entry]] before what it replaces and lists it in the open change set. Abort and
 * roll-back walk those lists. When a version can no longer be read or rolled back to, its entries
 * settle one or two at a time beside later writes, so no call ever pays for a whole change set: the
 * idea is Flink's incremental rehash, applied to pruning.
 *
 * @param base   version the table is loaded with; entries count versions from here
 * @param loader hands out the state at that version
 */
final class VersionedTable(
    assigner: BucketAssigner,
    base: Long,
    loader: BucketLoader = BucketLoader.Empty
) extends StateTable {
  import VersionedTable._

  @volatile private[this] var lists = FamilyHistory(base)
  private[this] val history = new ArrayDeque[Changes]()
  private[this] val settling = new ArrayDeque[Settling]()
  @volatile private[this] var newestVersion = base
  @volatile private[this] var oldestVersion = base
  @volatile private[this] var open = 0 // relative number of the open version, 0 when none is
  private[this] var before: Vector[FamilyTable] = Vector.empty // those at the newest version
  private[this] var keysBefore: Array[Long] = Array.empty // of those, while a version is open
  private[this] val loadLocks = Array.fill(assigner.numBuckets)(new Object)
  private[this] val touchLoads = new LongAdder
  private[this] val firstTouch = new AtomicReference[() => Unit]
  @volatile private[this] var loadFailureAs: Throwable => Throwable = identity
  @volatile private[this] var loadFailure: Throwable = _

  override def newest: Long = newestVersion

  override def oldest: Long = oldestVersion

  override def families: IndexedSeq[FamilyState] = tables

  override def familiesAt(version: Long): IndexedSeq[FamilyState] = lists.at(version).tables

  override def nextFamily: Int = lists.newest.nextNumber

  override def family(spec: FamilySpec): FamilyState =
    tables.find(_.spec.id == spec.id).getOrElse {
      val table = new FamilyTable(spec, assigner, this, loader)
      lists = lists.changed(changing, lists.newest + table)
      table
    }

  override def removeFamily(id: Int): Unit = {
    requireOpen()
    lists = lists.changed(changing, lists.newest - id)
  }

  /** Numbers below this one belonged to families that are gone. */
  private[bucketstate] def reserveFamilies(next: Int): Unit =
    if (next > nextFamily) lists = lists.changed(changing, lists.newest.copy(nextNumber = next))

  private def tables: Vector[FamilyTable] = lists.newest.tables

  /** The version that a family is added to or taken from. */
  private def changing: Long = if (open > 0) newestVersion + 1 else newestVersion

  override def begin(keepFrom: Long): Unit = {
    if (open > 0) throw new IllegalStateException(s"version ${newestVersion + 1} is already open")
    giveUpBelow(Math.min(keepFrom, newestVersion))
    before = tables
    keysBefore = before.iterator.map(_.keyCount).toArray
    open = relative(newestVersion + 1)
  }

  override def isOpen: Boolean = open > 0

  override def openChanges: ChangeSet = {
    requireOpen()
    new ChangeSet(newestVersion + 1, tables.map(_.groupedChanges), nextFamily)
  }

  override def commit(): Unit = {
    requireOpen()
    history.addLast(takeOpen())
    newestVersion += 1
    open = 0
  }

  override def abort(): Unit =
    if (open > 0) {
      undo(takeOpen())
      lists = lists.upTo(newestVersion)
      open = 0
    }

  override def rollBackTo(version: Long): Unit = {
    if (open > 0) throw new IllegalStateException("cannot roll back while a version is open")
    if (version < oldestVersion || version > newestVersion) {
      throw new IllegalArgumentException(
        s"version $version is not in memory, which holds $oldestVersion to $newestVersion"
      )
    }
    while (newestVersion > version) {
      undo(history.removeLast())
      newestVersion -= 1
    }
    lists = lists.upTo(version)
  }

  /** What a failure to load a bucket is to be thrown as; to be set before others know of the table. */
  def onLoadFailure(translate: Throwable => Throwable): Unit = loadFailureAs = translate

  /**
   * What to do once, when the first bucket that was touched is loaded, or when `beginWarmUp` is called
   * before that. Must not wait.
   */
  def onFirstTouch(action: () => Unit): Unit = firstTouch.set(action)

  def beginWarmUp(): Unit = {
    val action = firstTouch.getAndSet(null)
    if (action != null) action()
  }

  override def lazyLoads: Long = touchLoads.sum

  override def isResident: Boolean = lists.all.forall(_.isResident)

  override def isSound: Boolean = loadFailure == null

  override def memoryBytes: Long = {
    var bytes = 0L
    tables.foreach(t => bytes += t.memoryBytes)
    bytes
  }

  /** The open version counted from the base; what a write stamps on its entries. */
  private[table] def openVersion: Int = {
    if (open == 0) throw new IllegalStateException("no version is open for writing")
    open
  }

  /** Held while a bucket of that number is loaded. */
  private[table] def lockOf(bucket: Int): AnyRef = loadLocks(bucket)

  private[table] def touchedMissing(): Unit = touchLoads.increment()

  /** Notes that a bucket could not be loaded; returns what to throw. */
  private[table] def broke(failure: Throwable): Throwable = {
    loadFailure = loadFailureAs(failure)
    loadFailure
  }

  /** Part of what a loader would hand out may be gone already. */
  private[table] def requireSound(): Unit = if (loadFailure != null) throw loadFailure

  private[table] def relative(version: Long): Int = {
    val distance = version - base
    if (distance > Int.MaxValue) {
      throw new InvalidException(
        s"version $version is more than ${Int.MaxValue} versions after $base, where this table began",
        "Restart the query: it then counts from its newest version."
      )
    }
    distance.toInt
  }

  /** Called once per new entry: settles up to two old ones, so the backlog shrinks as it is made. */
  private[table] def settleSome(): Unit = {
    var n = 0
    while (n < 2 && !settling.isEmpty) {
      val first = settling.peekFirst()
      first.table.settle(first.entries(first.done))
      first.done += 1
      if (first.done == first.entries.length) settling.removeFirst()
      n += 1
    }
  }

  private def giveUpBelow(version: Long): Unit =
    while (oldestVersion < version) {
      val changes = history.removeFirst()
      oldestVersion += 1
      dropFamilies()
      changes.tables.indices.foreach { i =>
        if (changes.entries(i).nonEmpty && lists.holds(changes.tables(i)))
          settling.addLast(new Settling(changes.tables(i), changes.entries(i)))
      }
    }

  /** Lets go of families that no version has any more. */
  private def dropFamilies(): Unit = {
    val kept = lists.from(oldestVersion)
    if (kept ne lists) {
      lists = kept
      settling.removeIf(s => !kept.holds(s.table))
      ()
    }
  }

  /** Also of families that were taken away since: their changes may have to be undone. */
  private def takeOpen(): Changes = {
    val all = before ++ tables.filterNot(before.contains)
    val taken = new Changes(
      all.toArray,
      all.iterator.map(_.takeChanges()).toArray,
      keysBefore.padTo(all.size, 0L)
    )
    before = Vector.empty
    keysBefore = Array.empty
    taken
  }

  private def undo(changes: Changes): Unit = changes.tables.indices.foreach(i =>
    changes.tables(i).undo(changes.entries(i), changes.keysBefore(i))
  )

  private def requireOpen(): Unit =
    if (open == 0) throw new IllegalStateException("no version is open")
}

private object VersionedTable {

  /** What one complete version wrote, per family, and how many keys there were before it. */
  final class Changes(
      val tables: Array[FamilyTable],
      val entries: Array[Array[Entry]],
      val keysBefore: Array[Long]
  )

  /** Entries of a version nobody can go back behind, settled up to `done`. */
  final class Settling(val table: FamilyTable, val entries: Array[Entry]) {
    var done = 0
  }
}
