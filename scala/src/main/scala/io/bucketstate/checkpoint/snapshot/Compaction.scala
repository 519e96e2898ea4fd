package io.bucketstate.checkpoint.snapshot

import java.util.concurrent.CancellationException

import io.bucketstate.checkpoint.manifest.{Checkpoint, Manifest, ManifestFamily}
import io.bucketstate.checkpoint.records.{
  CountedRecords,
  ExpiredRecords,
  RecordCursor,
  RecordFilter
}
import io.bucketstate.checkpoint.run.{Run, TimeSlices, VersionSpan}
import io.bucketstate.error.{CorruptException, MissingException}

/**
 * The newest runs of a manifest merged into one, beside the batches and the snapshots that go on
 * meanwhile: so a snapshot is never late because of what lies below it. It reads files only and holds
 * nothing in memory. The next snapshot's manifest names the result in place of what was merged; until
 * then, and for good if there is no next one, the result is no part of the checkpoint.
 *
 * `run` is for one thread and once; the rest is thread-safe.
 *
 * @param manifest that names the runs
 * @param count    of its newest runs, which are merged
 * @param doubted  told when one of them was found damaged or gone
 */
final class Compaction private[snapshot] (
    checkpoint: Checkpoint,
    manifest: Manifest,
    count: Int,
    doubted: () => Unit
) {
  import Compaction._
  import checkpoint.{runs, store}

  private[this] val merged = manifest.runs.take(count)
  private[this] val begun = math.max(1, manifest.runs.size)
  private[this] val isWhole = count == manifest.runs.size
  @volatile private[this] var files = Set.empty[String]
  @volatile private[this] var state: State = Waiting
  @volatile private[this] var counts = Option.empty[Manifest]
  @volatile private[this] var cancelled = false
  private[this] var isOffered =
    false // to a manifest, which may be there although writing it failed

  /** Data files that it has made or is making, each before it is there. */
  def inFlight: Set[String] = files

  /** The manifest with the keys that were counted, once all of its runs are merged. */
  private[snapshot] def counted: Option[Manifest] = counts

  /** How much it is needed when there are so many runs: 1 when it was asked for, 2 is too much. */
  def lag(runCount: Int): Double = runCount.toDouble / begun

  /** How much the lag grows with each run. */
  def lagPerRun: Double = 1.0 / begun

  /** It will never be run. */
  def giveUp(): Unit = fail()

  /** Lets it fail with `CancellationException` soon, if it has not ended. */
  def cancel(): Unit = cancelled = true

  /**
   * Does the work; returns the bytes that were written. When it throws, no file is left but those that
   * could not be deleted.
   *
   * @param gate passed at each record
   */
  def run(gate: SnapshotGate): Long =
    try {
      gate.begin(merged.iterator.map(_.entries).sum)
      val span = VersionSpan(merged.last.versions.first, merged.head.versions.last)
      val slices = TimeSlices.of(manifest.times, isCut = isWhole)
      val counted = new CountedRecords(records(gate))
      val run = runs.writer.write(span, counted, isWhole, slices, name => files += name)
      end(run, counted)
      run.bytes
    } catch {
      case failure: Throwable =>
        fail()
        failure match {
          // Of what is not wanted any more a file may be gone.
          case _: CorruptException | _: MissingException if !cancelled => doubted()
          case _                                                       => ()
        }
        throw failure
    }

  private def end(run: Run, records: CountedRecords): Unit = synchronized {
    unfit(records).foreach { failure =>
      runs.writer.discard(run.files).foreach(failure.addSuppressed)
      throw failure
    }
    if (isWhole) counts = Some(withCounts(records))
    state = Done(run)
  }

  private def withCounts(counted: CountedRecords): Manifest =
    manifest.copy(families = manifest.families.map { f =>
      f.copy(keyCount = counted.count(f.descriptor.id), isEstimated = false)
    })

  /** Why a result is of no use: a whole state must have the keys that were counted when it was written. */
  private def unfit(counted: CountedRecords): Option[RuntimeException] =
    if (cancelled) Some(new CancellationException("it is not wanted any more"))
    else if (!isWhole) None
    else
      manifest.families
        .find(f => !f.isEstimated && f.keyCount != counted.count(f.descriptor.id))
        .map(f => miscounted(f, counted.count(f.descriptor.id)))

  private def fail(): Unit = synchronized {
    state = Failed
    files = Set.empty
  }

  /** Whether its result is there or will be, and can take its place among these runs. */
  private[snapshot] def isWanted(all: Seq[Run]): Boolean = state != Failed && placeIn(all).isDefined

  /** These runs, newest first, with the result in place of what it was merged of, if it is there. */
  private[snapshot] def appliedTo(all: Seq[Run]): Option[Seq[Run]] = state match {
    case Done(run) =>
      placeIn(all).map(newer => (all.take(newer) :+ run) ++ all.drop(newer + count))
    case _ => None
  }

  /** A manifest that names these runs is about to be written. */
  private[snapshot] def offer(all: Seq[Run]): Unit = synchronized {
    state match {
      // Some of its files may be left out of it.
      case Done(run) => isOffered ||= all.exists(_.files.exists(run.files.contains))
      case _         => ()
    }
  }

  /** How many of these runs, newest first, are newer than those that are merged, if all of them are there. */
  private[snapshot] def placeIn(all: Seq[Run]): Option[Int] = {
    val newer = all.indexOfSlice(merged)
    Option.when(newer >= 0 && (newer + count == all.size) == isWhole)(newer)
  }

  /**
   * Cancels it, and deletes a result that no manifest can name, as far as that works: retention finds the
   * rest.
   */
  private[snapshot] def discard(): Unit = synchronized {
    cancel()
    state match {
      case Done(run) if !isOffered =>
        runs.writer.discard(run.files)
        files = Set.empty
      case _ => ()
    }
  }

  private def records(gate: SnapshotGate): RecordCursor = {
    val living = manifest.families.iterator.map(_.descriptor.id).toSet
    val all = runs.readers.scanAll(merged, dropRemovals = isWhole)
    val wanted = new RecordFilter(all, r => living(r.family))
    new GatedCursor(new ExpiredRecords(manifest.times).removed(wanted), gate, () => cancelled)
  }

  private def miscounted(family: ManifestFamily, found: Long) = new CorruptException(
    s"${store.location}/${manifest.file.name}",
    s"it says that there are ${family.keyCount} keys in the column family '${family.descriptor.name}', " +
      s"its runs hold $found",
    "The runs stay as they are. Please report it together with a copy of the folder."
  )
}

private object Compaction {
  sealed trait State
  case object Waiting extends State
  case object Failed extends State
  final case class Done(run: Run) extends State
}
