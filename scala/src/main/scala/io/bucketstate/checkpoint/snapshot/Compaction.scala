package io.bucketstate.checkpoint.snapshot

import java.util.concurrent.CancellationException

import io.bucketstate.background.WorkGate
import io.bucketstate.checkpoint.manifest.{Checkpoint, KeysAt, Manifest, ManifestFamily}
import io.bucketstate.checkpoint.records.{
  CountedRecords,
  ExpiredRecords,
  RecordCursor,
  RecordFilter
}
import io.bucketstate.checkpoint.run.{BucketCuts, Run, TimeSlices, VersionSpan}
import io.bucketstate.error.{BucketstateException, CorruptException, MissingException}

/**
 * Runs of a manifest merged, all of them or some spans of buckets, one after the other, beside the batches and the
 * snapshots that go on meanwhile: so a snapshot is never late because of what lies below it. It reads files only and holds
 * nothing in memory. The manifest of the next snapshot names what is done by then in place of what was merged; until
 * then, and for good if there is no next one, it is no part of the checkpoint.
 *
 * `run` is for one thread and once; the rest is thread-safe.
 *
 * @param manifest that names the runs
 * @param merges   of other files each
 * @param cuts     no file is made that reaches over one; no merge shares a span with another
 * @param onDamage told what it failed with when a file was found damaged or gone
 */
final class Compaction private[snapshot] (
    checkpoint: Checkpoint,
    manifest: Manifest,
    merges: Seq[SpanMerge],
    cuts: BucketCuts,
    onDamage: BucketstateException => Unit
) {
  import checkpoint.{folder, runs}

  @volatile private[this] var files = Set.empty[String]
  @volatile private[this] var done = Map.empty[SpanMerge, Run]
  @volatile private[this] var counts = Map.empty[Int, KeysAt]
  @volatile private[this] var hasFailed = false
  @volatile private[this] var cancelled = false
  @volatile private[this] var snapshots = 0 // since it was asked for
  // Files, to a manifest, which may be there although writing it failed.
  private[this] var offered = Set.empty[String]

  /** Data files that it has made or is making, each before it is there. */
  def inFlight: Set[String] = files

  /** The keys of the families that were merged whole, by number. */
  private[snapshot] def counted: Map[Int, KeysAt] = counts

  /** How much it is needed: 1 when it was asked for, 2 is too much. */
  def lag: Double = 1 + snapshots * lagPerSnapshot

  /** How much the lag grows with each snapshot. */
  val lagPerSnapshot: Double =
    if (cuts.isDivided) Compaction.LagOfSpans else 1.0 / math.max(1, manifest.runs.size)

  /** It will never be run. */
  def giveUp(): Unit = fail()

  /** Lets it fail with `CancellationException` soon, if it has not ended. */
  def cancel(): Unit = cancelled = true

  /**
   * Does the work; returns the bytes that were written. When it throws, no file is left but those that
   * could not be deleted, and those of the merges that were done before.
   *
   * @param gate passed at each record
   */
  def run(gate: WorkGate): Long =
    try {
      gate.begin(merges.iterator.map(_.entries).sum)
      merges.iterator.map { merge =>
        val records = new CountedRecords(recordsOf(merge, gate))
        val run = made(merge, records)
        end(merge, run, records)
        run.bytes
      }.sum
    } catch {
      case failure: Throwable =>
        fail()
        failure match {
          // Of what is not wanted any more a file may be gone.
          case damage: CorruptException if !cancelled => onDamage(damage)
          case gone: MissingException if !cancelled   => onDamage(gone)
          case _                                      => ()
        }
        throw failure
    }

  private def made(merge: SpanMerge, records: RecordCursor): Run = {
    val span = VersionSpan(merge.merged.last.versions.first, merge.merged.head.versions.last)
    val slices = TimeSlices.of(manifest.times, isCut = merge.isWhole)
    def noted(name: String): Unit = synchronized(files += name)
    runs.writer.write(span, records, merge.isWhole, slices, cuts, noted)
  }

  private def end(merge: SpanMerge, run: Run, records: CountedRecords): Unit = synchronized {
    val whole = if (merge.isWhole) familiesIn(merge) else Nil
    unfit(whole, records).foreach { failure =>
      runs.writer.discard(run.files).foreach(failure.addSuppressed)
      throw failure
    }
    whole.foreach { f =>
      val id = f.descriptor.id
      counts += id -> KeysAt(manifest.version, records.count(id))
    }
    done += merge -> run
  }

  /** The families of which no file is left out: of a part of a family nobody has counted the keys. */
  private def familiesIn(merge: SpanMerge): Seq[ManifestFamily] = {
    val left = manifest.runs.iterator.flatMap(_.files).filterNot(f => merge.names(f.name))
    val divided = left.flatMap(_.buckets).map(_.family).toSet
    manifest.families.filterNot(f => divided(f.descriptor.id))
  }

  /** Why a result is of no use: families that were merged whole must have the keys that they should, if that is known. */
  private def unfit(
      whole: Seq[ManifestFamily],
      counted: CountedRecords
  ): Option[RuntimeException] =
    if (cancelled) Some(new CancellationException("it is not wanted any more"))
    else
      whole.flatMap { f =>
        val found = counted.count(f.descriptor.id)
        f.keyCount.filter(_ != found).map(miscounted(f, _, found))
      }.headOption

  private def fail(): Unit = synchronized {
    hasFailed = true
    files = done.values.iterator.flatMap(_.files).map(_.name).toSet
  }

  /** Whether any of its results is there or will be, and can take its place among these runs. */
  private[snapshot] def isWanted(all: Seq[Run]): Boolean = merges.exists(isWanted(_, all))

  private def isWanted(merge: SpanMerge, all: Seq[Run]): Boolean =
    (done.contains(merge) || !hasFailed) && merge.isIn(all)

  /** Those files of these runs in whose place its results will be. */
  private[snapshot] def busy(all: Seq[Run]): Set[String] =
    merges.iterator.filter(isWanted(_, all)).flatMap(_.names).toSet

  /** These runs, newest first, with those results that are there in place of what was merged. */
  private[snapshot] def appliedTo(all: Seq[Run]): Seq[Run] = done.foldLeft(all) {
    case (runs, (merge, made)) => if (merge.isIn(runs)) merge.appliedTo(runs, made.files) else runs
  }

  /** A manifest that names these runs is about to be written. */
  private[snapshot] def offer(all: Seq[Run]): Unit = synchronized {
    snapshots += 1
    // Not all files of a result: one may have been merged with others for this very manifest, or all in it has expired.
    offered ++= all.iterator.flatMap(_.files).map(_.name).filter(files)
  }

  /**
   * Cancels it, and deletes what no manifest can name of its results, as far as that works: retention finds the
   * rest.
   */
  private[snapshot] def discard(): Unit = synchronized {
    cancel()
    val unnamed = done.values.flatMap(_.files).filterNot(f => offered(f.name)).toSeq
    runs.writer.discard(unnamed)
    files --= unnamed.map(_.name)
    done = done.filter { case (_, made) => made.files.exists(f => offered(f.name)) }
  }

  private def recordsOf(merge: SpanMerge, gate: WorkGate): RecordCursor = {
    val living = manifest.families.iterator.map(_.descriptor.id).toSet
    val all = runs.readers.scanAll(merge.merged, dropRemovals = merge.isWhole)
    val wanted = new RecordFilter(all, r => living(r.family))
    new GatedCursor(new ExpiredRecords(manifest.times).removed(wanted), gate, () => cancelled)
  }

  private def miscounted(family: ManifestFamily, expected: Long, found: Long) =
    new CorruptException(
      s"${folder.location}/${manifest.file.name}",
      s"it says that there are $expected keys in the column family '${family.descriptor.name}', " +
        s"its runs hold $found",
      "The runs stay as they are. Please report it together with a copy of the folder."
    )
}

private object Compaction {

  /** One of spans is to be done when the next snapshot is: then it is the turn of others. */
  private final val LagOfSpans = 0.5
}
