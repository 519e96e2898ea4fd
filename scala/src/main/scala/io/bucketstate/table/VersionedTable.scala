package io.bucketstate.table

import java.util.ArrayDeque

import io.bucketstate.record.{
  BucketAssigner,
  BucketResidence,
  ChangeSet,
  ColdState,
  FamilySpec,
  Record
}
import io.bucketstate.table.cold.{BucketLoader, Floor, TableLoading}
import io.bucketstate.table.entry.Entry
import io.bucketstate.table.version.Versions

/**
 * The state of one store on the heap, at several versions at once, without copying any of it:
 * versions hang on single entries.
 *
 * A put links a new [[Entry]] before what it replaces and lists it in the open change set. Abort and
 * roll-back walk those lists. When a version can no longer be read or rolled back to, its entries
 * settle one or two at a time beside later writes: the idea is Flink's incremental rehash, applied to
 * pruning.
 *
 * @param base   version the table is loaded with; entries count versions from here
 * @param loader hands out the state at that version
 * @param countsExactly whether keys that are written are looked up for their number
 * @param mostBytes that a key and the values that were appended to it may take
 */
private[table] final class VersionedTable(
    assigner: BucketAssigner,
    base: Long,
    loader: BucketLoader = BucketLoader.Empty,
    host: TableHost = TableHost.Plain,
    countsExactly: Boolean = true,
    mostBytes: Int = Record.MaxLength
) extends StateTable {
  import VersionedTable._

  private[this] val versions = new Versions(base)
  private[this] val backlog = new SettlingBacklog
  private[this] val evicting = new EvictionBacklog(backlog)
  private[this] val loading =
    new TableLoading(loader, host, assigner.numBuckets, () => if (!isLoaded) host.inUse(this))
  private[this] val floor = new Floor(versions, base, loader.cold)
  private[this] val history = new ArrayDeque[Changes]()
  @volatile private[this] var abandoned = false
  @volatile private[this] var lists = FamilyHistory(base)
  private[this] var before: Vector[FamilyTable] = Vector.empty // those at the newest version
  private[this] var countsBefore: Array[Long] = Array.empty // of those, while a version is open

  override def newest: Long = versions.newest

  override def oldest: Long = versions.oldest

  override def families: IndexedSeq[FamilyState] = tables

  override def familiesAt(version: Long): IndexedSeq[FamilyState] = lists.at(version).tables

  override def nextFamily: Int = lists.newest.nextNumber

  override def family(spec: FamilySpec): FamilyState =
    tables.find(_.spec.id == spec.id).getOrElse {
      val table = new FamilyTable(
        spec,
        assigner,
        versions,
        backlog,
        evicting,
        loading,
        floor,
        countsExactly,
        mostBytes
      )
      lists = lists.changed(versions.changing, lists.newest + table)
      table
    }

  override def removeFamily(id: Int): Unit = {
    requireOpen()
    lists = lists.changed(versions.changing, lists.newest - id)
  }

  /** Numbers below this one belonged to families that are gone. */
  def reserveFamilies(next: Int): Unit =
    if (next > nextFamily)
      lists = lists.changed(versions.changing, lists.newest.copy(nextNumber = next))

  private def tables: Vector[FamilyTable] = lists.newest.tables

  override def begin(keepFrom: Long, now: Long): Unit = {
    if (isOpen) throw new IllegalStateException(s"version ${newest + 1} is already open")
    loading.telling(loading.requireSound())
    loading.changing {
      giveUpBelow(Math.min(keepFrom, newest))
      if (floor.raise()) lists.all.distinct.foreach(_.floorRaised())
      before = tables
      countsBefore = before.iterator.map(_.countMark).toArray
      before.foreach(_.begin(now))
      versions.begin()
    }
  }

  override def isOpen: Boolean = versions.isOpen

  override def openChanges: ChangeSet = {
    requireOpen()
    // Where it throws, as for a list that is too long, the table is as it was: what is joined reads the same.
    new ChangeSet(newest + 1, tables.map(_.groupedChanges), nextFamily)
  }

  override def commit(): Unit = {
    requireOpen()
    loading.changing {
      tables.foreach(_.keepFound())
      history.addLast(takeOpen())
      tables.foreach(_.commit())
      versions.commit()
    }
    loading.use()
  }

  override def abort(): Unit =
    if (isOpen) loading.changing {
      val open = takeOpen()
      versions.abort()
      // Where a change was left half-way nothing can be undone, and nobody opens a version again.
      if (isSound) undo(open)
      lists = lists.upTo(newest)
      tables.foreach(_.undone())
    }

  override def rollBackTo(version: Long): Unit = {
    if (isOpen) throw new IllegalStateException("cannot roll back while a version is open")
    if (version < oldest || version > newest) {
      throw new IllegalArgumentException(
        s"version $version is not in memory, which holds $oldest to $newest"
      )
    }
    loading.changing {
      while (newest > version) {
        undo(history.removeLast())
        versions.giveUpNewest()
      }
      lists = lists.upTo(version)
      tables.foreach(_.undone())
      floor.forgetAbove(version)
    }
  }

  override def advance(cold: ColdState): Boolean =
    cold.version <= newest && floor.advance(cold)

  override def settle(): Unit = loading.changing(backlog.settleAll())

  override def evictLater(order: IndexedSeq[BucketResidence], bytes: Long)(
      freed: Long => Unit
  ): Unit = {
    val families = tables.iterator.map(f => f.spec.id -> f).toMap
    evicting.replaceBy(
      order,
      bytes,
      bucket => {
        val free = families(bucket.family).evict(bucket.bucket)
        freed(free)
        free
      }
    )
  }

  override def coldParts: Seq[ColdState] = floor.parts

  override def lazyLoads: Long = loading.touches

  override def isResident: Boolean = lists.all.forall(_.isResident)

  override def isLoaded: Boolean = lists.all.forall(_.isLoaded)

  override def isSound: Boolean = loading.isSound

  override def requireVerified(): Unit = {
    loading.telling(loading.requireSound())
    loader.verifyRest()
  }

  override def abandon(): Unit = abandoned = true

  override def isAbandoned: Boolean = abandoned

  override def memoryBytes: Long = {
    var bytes = loader.heldBytes
    tables.foreach(t => bytes += t.memoryBytes)
    bytes
  }

  private def giveUpBelow(version: Long): Unit =
    while (oldest < version) {
      val changes = history.removeFirst()
      versions.giveUpOldest()
      dropFamilies()
      changes.tables.indices.foreach { i =>
        val settling = changes.tables(i).settling
        if (lists.holds(settling)) backlog.add(settling, changes.entries(i))
      }
    }

  /** Lets go of families that no version has any more. */
  private def dropFamilies(): Unit = {
    val kept = lists.from(oldest)
    if (kept ne lists) {
      // Nobody loads what is left of them.
      lists.all.filter(t => !t.isLoaded && !kept.holds(t.settling)).foreach { table =>
        loader.loaded(table.spec.id)
      }
      lists = kept
      backlog.keepOnly(kept.holds)
    }
  }

  /** Also of families that were taken away since: their changes may have to be undone. */
  private def takeOpen(): Changes = {
    val all = before ++ tables.filterNot(before.contains)
    val taken = new Changes(
      all.toArray,
      all.iterator.map(_.takeChanges()).toArray,
      countsBefore.padTo(all.size, 0L)
    )
    before = Vector.empty
    countsBefore = Array.empty
    taken
  }

  private def undo(changes: Changes): Unit = changes.tables.indices.foreach(i =>
    changes.tables(i).undo(changes.entries(i), changes.countsBefore(i))
  )

  private def requireOpen(): Unit =
    if (!isOpen) throw new IllegalStateException("no version is open")
}

private object VersionedTable {

  /** What one complete version wrote, per family, and what was counted of its keys before it. */
  final class Changes(
      val tables: Array[FamilyTable],
      val entries: Array[Array[Entry]],
      val countsBefore: Array[Long]
  )
}
