package io.bucketstate.checkpoint.snapshot

import java.util.UUID
import java.util.concurrent.atomic.AtomicReference

import scala.collection.mutable.ArrayBuffer

import org.slf4j.LoggerFactory

import io.bucketstate.background.{Patience, WorkGate}
import io.bucketstate.checkpoint.changelog.{
  ChangelogBuckets,
  ChangelogFamily,
  ChangelogReader,
  Lineage
}
import io.bucketstate.checkpoint.io.{Attempt, CheckpointFiles, Closing, ManifestName}
import io.bucketstate.checkpoint.manifest.{Checkpoint, KeysAt, Manifest, ManifestFamily, Manifests}
import io.bucketstate.checkpoint.records.{
  BucketSource,
  ChangeMerger,
  CountedRecords,
  ExpiredRecords,
  RecordCursor,
  RecordFilter,
  RecordPlaces,
  RunMerge
}
import io.bucketstate.checkpoint.run.{BucketCuts, Run, TimeSlices}
import io.bucketstate.error.{
  BucketstateException,
  ConflictException,
  CorruptException,
  MissingException
}
import io.bucketstate.record.BucketAssigner

/**
 * A version to be snapshot.
 *
 * @param file     its changelog
 * @param commitId of the attempt meant, where known: another one's file is not taken for it
 * @param memory   the state at that version as memory has it, if it is all there
 * @param release  called when `memory` is not needed any more; may be called more than once
 * @param doubted  called when the files lead to another state than memory, which has too little of it to be written instead
 */
final case class SnapshotTarget(
    file: Attempt,
    commitId: Option[UUID],
    memory: Option[BucketSource] = None,
    release: () => Unit = () => (),
    doubted: () => Unit = () => ()
)

/**
 * What a snapshot did.
 *
 * @param written    bytes of the new run
 * @param rewritten  how many of them are of versions that an older run had already
 * @param compaction what it left to be done beside the next ones: to be run, or nothing comes of it
 */
final case class SnapshotReport(
    manifest: Manifest,
    written: Long,
    rewritten: Long,
    compaction: Option[Compaction]
)

/**
 * Makes the manifest of a version: merges the changelogs since the manifest before into a run, together
 * with older runs where the [[CompactionPlan]] says so, or writes the whole state from memory. Works from
 * the files beside the batches and never touches the table.
 *
 * Thread-safe; a second snapshot waits for the one under way ([[OneAtATime]]).
 *
 * @param maxRuns       before some are merged
 * @param maxMergeBytes about the most bytes that are merged at a time: a state that takes more is merged in spans
 */
final class Snapshotter(
    checkpoint: Checkpoint,
    storeId: String,
    schemas: String => Option[FamilySchemas],
    maxRuns: Int,
    maxMergeBytes: Long
) {
  import Snapshotter._
  import checkpoint.{assigner, families, folder, recent, runs, trust}

  private[this] val manifests = new Manifests(folder)
  private[this] val bases = new SnapshotBases(folder, manifests, trust)
  private[this] val aloneWriter = new AloneWriter(checkpoint, storeId, schemas)
  private[this] val oneAtATime = new OneAtATime(folder.location)
  // One value, so that what others learn while a snapshot is under way outlives it.
  private[this] val known = new AtomicReference(Known(None, Map.empty, doubtsFiles = false))
  // The last one that was made: the compactions are of it, and of those it was built on.
  private[this] var published = Option.empty[Manifest]
  @volatile private[this] var used = Set.empty[String]
  private[this] val compactions =
    new Compactions(
      checkpoint,
      maxRuns,
      maxMergeBytes,
      (manifest, cause) => {
        trust.failedIn(manifest, cause)
        doubt()
      }
    )
  @volatile private[this] var cancelled = false

  /** Data files that what is under way builds on or has made, each before it is there. */
  def inFlight: Set[String] = used ++ compactions.inFlight ++ aloneWriter.inFlight

  /**
   * What a restart started from: the next snapshot need not look for it.
   *
   * @param doubtsFiles whether snapshots were passed over because of damage: what is there leads to their files
   * @param followed    commits of versions that later ones were not built on, but were restored over
   */
  def startFrom(
      manifest: Option[Manifest],
      doubtsFiles: Boolean = false,
      followed: Map[Long, UUID] = Map.empty
  ): Unit = {
    known.updateAndGet(before => Known(manifest, followed, doubtsFiles || before.doubtsFiles))
    ()
  }

  /** Whatever was wrong with the files: the next snapshot does not build on the same ones blindly. */
  private def doubt(): Unit = {
    known.updateAndGet(_.copy(newest = None, doubtsFiles = true))
    ()
  }

  /** A snapshot has ended that began with what was known then: what was learnt since stays. */
  private def ended(begun: Known, manifest: Manifest): Unit = {
    known.compareAndSet(begun, begun.copy(newest = Some(manifest), doubtsFiles = false))
    ()
  }

  /** Lets a snapshot under way, and all later ones, fail with `CancellationException`. */
  def cancel(): Unit = {
    cancelled = true
    compactions.cancel()
  }

  /** Gives up what a compaction made that no manifest names yet: after the last snapshot. */
  def discard(): Unit = oneAtATime.between(compactions.discard())

  /**
   * Writes run and manifest. When it throws, no manifest was written, and what else was is no part of
   * the checkpoint.
   *
   * @param gate           passed at each record
   * @param compactsBeside whether runs that are to be merged may be left to a [[Compaction]], which the
   *                       caller then runs
   * @param patience       see [[OneAtATime.make]]
   */
  def take(
      target: SnapshotTarget,
      gate: WorkGate = WorkGate.Open,
      compactsBeside: Boolean = false,
      patience: Option[Patience] = None
  ): SnapshotReport = oneAtATime.make(target.file.version, patience) {
    val begun = known.get
    try {
      val (base, lineage, opened) = material(target, begun)
      try {
        requireMeant(target, opened)
        val planned = planFor(target, base, opened, compactsBeside, begun)
        // While it is held nothing settles, which costs memory: most snapshots do without it.
        if (planned.recipe.from != RecordsFrom.Memory) target.release()
        val (merged, recipe) = noting(base)(compactions.inside(base, planned, gate))
        // A file that is scanned for the first time is verified here.
        val made = noting(base)(records(target, recipe, planned.keys, lineage, opened, gate))
        val report = publish(target, opened.head, base, recipe, planned.cuts, made)
        published = Some(report.manifest)
        ended(begun, report.manifest)
        report.copy(
          written = report.written + merged,
          rewritten = report.rewritten + merged,
          compaction = compactions.beside(report.manifest, planned)
        )
      } finally Closing.all(opened)
    } catch {
      case e @ (_: CorruptException | _: MissingException) =>
        doubt()
        // What is wrong may be a result that no manifest names yet: nobody who looks at the base finds that.
        compactions.discard()
        throw e
    } finally used = Set.empty
  }

  /**
   * Makes a version that is a manifest without a changelog: see [[AloneWriter]]. Not while a snapshot is under way, which
   * may be of an older attempt at the same version.
   *
   * @param patience see [[OneAtATime.make]]
   */
  def alone(
      state: AloneState,
      mayReplace: Boolean,
      patience: Option[Patience] = None
  ): Manifest = oneAtATime.make(state.attempt.version, patience) {
    val manifest = aloneWriter.write(state, mayReplace)
    known.updateAndGet(_.copy(newest = Some(manifest)))
    manifest
  }

  /**
   * The manifest to build on, and the changelogs from there to a version, opened and newest first. Where nothing leads to
   * the version any more, the changelog of the version alone, if memory has everything.
   */
  private def material(
      target: SnapshotTarget,
      begun: Known
  ): (Option[Manifest], Lineage, Seq[ChangelogReader]) =
    try leadingTo(target.file, begun)
    catch {
      // The older changelogs may have been deleted for the sake of a manifest that is of no use now.
      case e: MissingException if target.memory.isDefined => withoutBase(target.file, e)
      case e: CorruptException if target.memory.isDefined && !e.isNewer =>
        withoutBase(target.file, e)
    }

  private def withoutBase(
      target: Attempt,
      cause: BucketstateException
  ): (Option[Manifest], Lineage, Seq[ChangelogReader]) = {
    val lineage = Lineage.of(folder, target)(_.version < target.version)
    val own = recent.open(target)
    log.warn(
      s"Nothing leads to version ${target.version} in ${folder.location} from an older snapshot: the whole state is " +
        "written from memory",
      cause
    )
    (None, lineage, Seq(own))
  }

  private def leadingTo(
      target: Attempt,
      begun: Known
  ): (Option[Manifest], Lineage, Seq[ChangelogReader]) =
    try material(target, begun.newest)
    catch {
      // What was known may be of before a version that stands alone, and does not lead over it.
      case _: MissingException if begun.newest.isDefined => material(target, hint = None)
    }

  private def material(
      target: Attempt,
      hint: Option[Manifest]
  ): (Option[Manifest], Lineage, Seq[ChangelogReader]) = {
    val (base, lineage) = bases.of(target, hint)
    // What has expired at a version that was taken back may be live at this one, and a compaction left it out.
    if (base != published) compactions.discard()
    used = base.fold(Set.empty[String])(_.fileNames)
    val opened = ArrayBuffer.empty[ChangelogReader]
    try {
      lineage.changelogs.foreach(file => opened += recent.open(file))
      (base, lineage, opened.toSeq)
    } catch {
      case failure: Throwable =>
        Closing.all(opened.toSeq)
        throw failure
    }
  }

  private def requireMeant(target: SnapshotTarget, newestFirst: Seq[ChangelogReader]): Unit = {
    val newestLog = newestFirst.headOption.getOrElse(throw nothingNew(target))
    target.commitId
      .filter(_ != newestLog.header.commitId)
      .foreach(expected => throw replaced(target, newestLog, expected))
  }

  private def planFor(
      target: SnapshotTarget,
      base: Option[Manifest],
      newestFirst: Seq[ChangelogReader],
      compactsBeside: Boolean,
      begun: Known
  ): PlannedSnapshot = {
    val gap = hasGap(newestFirst, begun.followed)
    if (gap && target.memory.isEmpty) {
      target.doubted()
      throw unsure(target)
    }
    val all = base.fold(Seq.empty[Run])(_.runs)
    val older = compactions.begin(all)
    val beside = if (compactsBeside) compactions.mayBegin(older) else Beside.Nothing
    val incoming = newestFirst.iterator.map(_.length).sum
    val keys = newestFirst.head.families
      .map(f => f.descriptor.id -> f.keyCount.getOrElse(mostKeys(f, older, newestFirst)))
      .toMap
    val live = new LiveBytes(keys, older)
    val material = SnapshotMaterial(
      target.file.version,
      incoming,
      keys.values.sum,
      base.fold(0L)(_.version),
      older,
      hasMemory = target.memory.isDefined,
      doubtsFiles = begun.doubtsFiles || gap,
      cuts = live.cuts(incoming, assigner.numBuckets, maxMergeBytes)
    )
    PlannedSnapshot(SnapshotRecipe(material, maxRuns, beside), material.cuts, keys, beside)
  }

  /** How many keys of a family the files can hold at most. Its share of them is judged by that if nobody has counted. */
  private def mostKeys(
      family: ChangelogFamily,
      older: Seq[Run],
      newestFirst: Seq[ChangelogReader]
  ): Long = {
    val id = family.descriptor.id
    val files = older.iterator.flatMap(_.files).filter(_.buckets.exists(_.family == id))
    val blocks = newestFirst.iterator.flatMap(_.blocks).filter(_.family == id)
    files.map(_.entries).sum + blocks.map(_.records.toLong).sum
  }

  /**
   * What goes into the new run; to be closed.
   *
   * @param keys of each family, about
   */
  private def records(
      target: SnapshotTarget,
      recipe: SnapshotRecipe,
      keys: Map[Int, Long],
      lineage: Lineage,
      newestFirst: Seq[ChangelogReader],
      gate: WorkGate
  ): RecordCursor = {
    val living = newestFirst.head.families.iterator.map(_.descriptor.id).toSet
    def incoming = new ChangeMerger(
      newestFirst.zip(lineage.changelogs).map { case (reader, file) =>
        val path = s"${folder.location}/${file.changelog}"
        val specs = reader.families.map(f => families.matching(path, f.descriptor))
        ChangelogBuckets.of(reader, path, new RecordPlaces(assigner, specs))
      },
      assigner.numBuckets,
      living
    )
    val all = recipe.from match {
      case RecordsFrom.Memory =>
        gate.begin(keys.values.sum)
        new ChangeMerger(target.memory.toSeq, assigner.numBuckets)
      case RecordsFrom.Files(merged) =>
        val changes = newestFirst.iterator.flatMap(_.blocks).map(_.records.toLong).sum
        gate.begin(changes + merged.iterator.map(_.entries).sum)
        if (merged.isEmpty) incoming
        else {
          val older = runs.readers.scanAll(merged, dropRemovals = recipe.isWhole)
          val wanted = new RecordFilter(older, r => living(r.family))
          new RunMerge(Seq(incoming, wanted), dropRemovals = recipe.isWhole)
        }
    }
    val expired = new ExpiredRecords(newestFirst.head.times)
    new GatedCursor(expired.removed(all), gate, () => cancelled)
  }

  /** Writes the new run, and a manifest that names it. */
  private def publish(
      target: SnapshotTarget,
      newestLog: ChangelogReader,
      base: Option[Manifest],
      recipe: SnapshotRecipe,
      cuts: BucketCuts,
      records: RecordCursor
  ): SnapshotReport = {
    val slices = TimeSlices.of(newestLog.times, isCut = recipe.isWhole)
    // Retention asks for the names before it lists the files: so a name must be known before its file is.
    val counted = new CountedRecords(records)
    val run = noting(base) {
      runs.writer.write(recipe.span, counted, recipe.isWhole, slices, cuts, name => used += name)
    }
    try {
      val families =
        if (recipe.isWhole) newestLog.families.map(f => requireCounted(target, f, counted))
        else newestLog.families
      val manifest =
        manifestOf(target, newestLog, base, families, run +: living(recipe.kept, newestLog))
      requireThere(manifest)
      if (recipe.from != RecordsFrom.Memory) base.foreach(requireSound(target, _))
      compactions.offer(manifest.runs)
      manifests.write(manifest)
      SnapshotReport(manifest, run.bytes, if (recipe.rewrites) run.bytes else 0L, None)
    } catch {
      // The manifest's reply may have been lost after it was there: then its run must stay.
      case failure: BucketstateException if !mayBeThere(target) =>
        runs.writer.discard(run.files).foreach(failure.addSuppressed)
        throw failure
    }
  }

  /** A family with the keys that a whole run has of it, which are those it should have, if that is known. */
  private def requireCounted(
      target: SnapshotTarget,
      family: ChangelogFamily,
      counted: CountedRecords
  ): ChangelogFamily = {
    val found = counted.count(family.descriptor.id)
    family.keyCount.filter(_ != found).foreach { expected =>
      throw miscounted(target, family, expected, found)
    }
    family.copy(keyCount = Some(found))
  }

  /** The runs without files all of which has expired; a compaction needs those that it merges as they were. */
  private def living(kept: Seq[Run], log: ChangelogReader): Seq[Run] =
    ExpiredFiles.leftOut(kept, log.times, compactions.busy(kept))

  /**
   * With checkpoint format 1: whether an attempt that was given up for lost has replaced a file after the next version was
   * built on it. Then memory knows better than the files, unless it was itself restored over that very file.
   */
  private def hasGap(newestFirst: Seq[ChangelogReader], followed: Map[Long, UUID]): Boolean =
    newestFirst.zip(newestFirst.drop(1)).exists { case (next, before) =>
      next.header.checkpointId.isEmpty &&
      next.header.baseId.exists(_ != before.header.commitId.toString) &&
      !followed.get(before.header.version).contains(before.header.commitId)
    }

  private def manifestOf(
      target: SnapshotTarget,
      log: ChangelogReader,
      base: Option[Manifest],
      families: Seq[ChangelogFamily],
      all: Seq[Run]
  ): Manifest =
    Manifest(
      storeId,
      target.file.version,
      assigner.numBuckets,
      BucketAssigner.HashName,
      families.map { f =>
        val schema = schemas(f.descriptor.name)
        ManifestFamily(
          f.descriptor,
          f.keyCount,
          schema.map(_.key),
          schema.map(_.value),
          f.times,
          if (f.keyCount.isEmpty) lastCount(f.descriptor.id, base) else None
        )
      },
      all,
      Some(log.header.commitId),
      log.header.checkpointId,
      log.header.baseId.filter(_ => log.header.checkpointId.isDefined),
      Some(log.nextFamily)
    )

  private def lastCount(family: Int, base: Option[Manifest]): Option[KeysAt] =
    (base.flatMap(_.lastCount(family)) ++ compactions.counted(family)).maxByOption(_.version)

  /**
   * Another executor may have deleted what is about to be named again (SPARK-55892), and any retention that
   * knows nothing of this snapshot a new file that was long in the making.
   */
  private def requireThere(manifest: Manifest): Unit =
    if (manifest.fileNames.nonEmpty) {
      val there = folder.list(CheckpointFiles.RunFolder).iterator.map(_.name).toSet
      manifest.fileNames.find(name => !there(name)).foreach { name =>
        throw new MissingException(
          s"${folder.location}/$name",
          s"the snapshot of version ${manifest.version} was to build on it",
          "The snapshot was not published; the next one does without the file."
        )
      }
    }

  /** A batch or a compaction may have found damage in it since the snapshot began. */
  private def requireSound(target: SnapshotTarget, base: Manifest): Unit =
    trust.wrongWith(base).foreach { damage =>
      throw new CorruptException(
        damage.file,
        s"that was found while the snapshot of version ${target.file.version} was made on top of it",
        "The snapshot was not published; the next one does without the file.",
        damage
      )
    }

  /** Reads files of a manifest; what turns out to be damaged is known from then on. */
  private def noting[A](base: Option[Manifest])(read: => A): A =
    try read
    catch {
      case e: CorruptException =>
        base.foreach(trust.failedIn(_, e))
        throw e
    }

  private def mayBeThere(target: SnapshotTarget): Boolean =
    try
      folder.exists(ManifestName(target.file).name)
    catch { case _: BucketstateException => true }

  private def nothingNew(target: SnapshotTarget) =
    new IllegalArgumentException(s"version ${target.file.version} is the empty store")

  private def replaced(target: SnapshotTarget, found: ChangelogReader, expected: UUID) =
    new ConflictException(
      s"${folder.location}/${target.file.changelog} was replaced: expected commit $expected, found " +
        s"${found.header.commitId}",
      "Another attempt at the version won; the next snapshot takes what it left."
    )

  private def unsure(target: SnapshotTarget) =
    new ConflictException(
      s"a changelog before version ${target.file.version} in ${folder.location} was replaced after the next " +
        "one was built on it, and the state is not all in memory",
      "No snapshot was made. The next batch, or the retry of this one, loads the state from the files as they are, and the " +
        "next snapshot is of that. " +
        "spark.sql.streaming.stateStore.checkpointFormatVersion=2 keeps attempts apart."
    )

  private def miscounted(
      target: SnapshotTarget,
      family: ChangelogFamily,
      expected: Long,
      found: Long
  ) =
    new CorruptException(
      s"${folder.location}/${target.file.changelog}",
      s"the column family '${family.descriptor.name}' should hold $expected keys at version " +
        s"${target.file.version}, its snapshot would hold $found",
      "No manifest was written; the changelogs and older manifests stay as they are. Please report it " +
        "together with a copy of the folder."
    )
}

private object Snapshotter {
  private val log = LoggerFactory.getLogger(classOf[Snapshotter])

  /**
   * What the next snapshot begins with.
   *
   * @param newest      a manifest that may be the newest: it need not be looked for
   * @param followed    see `startFrom`
   * @param doubtsFiles whether memory is to be preferred, if that has everything: a file was damaged or gone
   */
  final case class Known(newest: Option[Manifest], followed: Map[Long, UUID], doubtsFiles: Boolean)
}
