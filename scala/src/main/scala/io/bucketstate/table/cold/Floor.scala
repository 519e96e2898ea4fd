package io.bucketstate.table.cold

import java.util.concurrent.atomic.AtomicInteger

import io.bucketstate.record.ColdState
import io.bucketstate.table.version.Versions

/**
 * Where a table's cold part is: which one is asked now, which will be, and which are still being read.
 *
 * Invariants: the floor is never above the oldest version that can be read, so what the cold part says of a key
 * that memory knows nothing of is right at every version that can be read. The floor only rises.
 *
 * Order: whoever asks the cold part has looked into memory before that, and the writer lets go of what a higher
 * floor makes needless only after it has published the cold part of that floor. So whoever misses it in memory
 * finds the cold part that has it.
 *
 * Threads: `advance` and `parts` by any, `raise` and `forgetAbove` by the writer, `reading` by any.
 *
 * @param base    version that the table began with
 * @param initial what it was loaded from, if that was not the empty state; not above `base`
 */
private[table] final class Floor(versions: Versions, base: Long, initial: Option[ColdState]) {
  import Floor._

  @volatile private[this] var current: Part = initial.fold[Part](null)(new Part(_, isOurs = false))
  @volatile private[this] var isAwaiting = false // whether `awaited` holds something
  private[this] var awaited = Vector.empty[ColdState] // ascending
  private[this] var replaced = List.empty[Part] // and perhaps still read
  private[this] var ofCurrent =
    initial.fold(Int.MaxValue)(cold => versions.relative(cold.version))
  private[this] var trackedFrom = ofCurrent

  /**
   * The version of the cold part, counted from the table's base: a removal above it has to hide what the cold part
   * has. No version is above it until a cold part was first announced. The writer's own.
   */
  def stamp: Int = ofCurrent

  /** Version of the cold part, -1 if there is none. Any thread. */
  def version: Long = {
    val part = current
    if (part == null) -1L else part.cold.version
  }

  /** About the heap that all of the cold part takes in memory, in bytes. Any thread. */
  def wholeBytes: Long = {
    val part = current
    if (part == null) 0L else part.cold.wholeBytes
  }

  /** Whether all removals above the cold part have left a trace. The writer's own. */
  def canEvict: Boolean = current != null && trackedFrom <= ofCurrent

  /** Announces a cold part; false if it is of no use. */
  def advance(cold: ColdState): Boolean = synchronized {
    val highest = awaited.lastOption.orElse(Option(current).map(_.cold)).map(_.version)
    val isHigher = cold.version >= base && highest.forall(_ < cold.version)
    if (isHigher) {
      awaited :+= cold
      isAwaiting = true
    }
    isHigher
  }

  /** Takes the highest cold part there is that is not above the oldest version; true if that is a new one. */
  def raise(): Boolean = isAwaiting && synchronized {
    if (trackedFrom == Int.MaxValue) {
      trackedFrom = versions.relative(versions.oldest)
      ofCurrent = -1
    }
    val (due, later) = awaited.span(_.version <= versions.oldest)
    due.lastOption.foreach { cold =>
      val before = Option(current)
      replaced = before.toList ++ replaced.filter(_.isHeld)
      current = new Part(cold, isOurs = true)
      before.foreach(_.release())
      due.init.foreach(_.release())
      ofCurrent = versions.relative(cold.version)
      awaited = later
      isAwaiting = later.nonEmpty
    }
    due.nonEmpty
  }

  /** Versions above this one are undone: what is announced of them is of another history. */
  def forgetAbove(version: Long): Unit = synchronized {
    val (kept, undone) = awaited.partition(_.version <= version)
    undone.foreach(_.release())
    awaited = kept
    isAwaiting = awaited.nonEmpty
  }

  /** Asks the cold part, which stays among [[parts]] until then. There must be one. */
  def reading[A](ask: ColdState => A): A = {
    val part = held()
    try ask(part.cold)
    finally part.release()
  }

  /** All that are, will be, or are still being asked. */
  def parts: Seq[ColdState] = synchronized {
    replaced = replaced.filter(_.isHeld)
    awaited ++ Option(current).map(_.cold) ++ replaced.map(_.cold)
  }

  /** The current part; one that cannot be held any more was replaced since it was looked for. */
  private def held(): Part = {
    var part = current
    while (!part.hold()) part = current
    part
  }
}

private object Floor {

  /**
   * A cold part, held by the floor while it is the current one, and by whoever reads from it. The last one releases it.
   *
   * @param isOurs if not, others read from it, too: buckets that were not loaded yet come from there
   */
  private final class Part(val cold: ColdState, isOurs: Boolean) {
    private[this] val holders = new AtomicInteger(1)

    /** False if it was let go. */
    def hold(): Boolean = {
      var current = holders.get
      while (current > 0 && !holders.compareAndSet(current, current + 1)) current = holders.get
      current > 0
    }

    def release(): Unit = if (holders.decrementAndGet() == 0 && isOurs) cold.release()

    def isHeld: Boolean = holders.get > 0
  }
}
