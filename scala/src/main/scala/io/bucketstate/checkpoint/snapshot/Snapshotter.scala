package io.bucketstate.checkpoint.snapshot

import java.util.UUID
import java.util.concurrent.CancellationException

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.changelog.{ChangelogBuckets, ChangelogReader, Lineage}
import io.bucketstate.checkpoint.io.{Attempt, CheckpointFiles, Closing, FileStore, ManifestName}
import io.bucketstate.checkpoint.manifest.{Manifest, ManifestFamily, Manifests}
import io.bucketstate.checkpoint.records.{
  BucketSource,
  ChangeMerger,
  FamilyFilter,
  KnownFamilies,
  RecordCursor,
  RecordPlaces,
  RunMerge
}
import io.bucketstate.checkpoint.run.{Run, RunAccess, VersionSpan}
import io.bucketstate.error.{
  BucketstateException,
  ConflictException,
  CorruptException,
  MissingException
}

/**
 * A version to be snapshot.
 *
 * @param file     its changelog
 * @param commitId of the attempt meant, where known: another one's file is not taken for it
 * @param memory   the state at that version as memory has it, if it is all there
 * @param release  called when `memory` is not needed any more; again is no error
 */
final case class SnapshotTarget(
    file: Attempt,
    commitId: Option[UUID],
    memory: Option[BucketSource] = None,
    release: () => Unit = () => ()
)

/**
 * What a snapshot did.
 *
 * @param written   bytes of the new run
 * @param rewritten how many of them are of versions that an older run had already
 */
final case class SnapshotReport(manifest: Manifest, written: Long, rewritten: Long)

/**
 * Makes the manifest of a version: merges the changelogs since the manifest before into a run, together
 * with older runs where the [[CompactionPlan]] says so, or writes the whole state from memory. Works from
 * the files beside the batches and never touches the table.
 *
 * Thread-safe; a second snapshot waits for the one under way.
 */
final class Snapshotter(
    store: FileStore,
    assigner: BucketAssigner,
    families: KnownFamilies,
    runs: RunAccess,
    storeId: String,
    schemas: String => Option[FamilySchemas],
    maxRuns: Int
) {
  private[this] val manifests = new Manifests(store)
  private[this] val oneAtATime = new Object
  @volatile private[this] var newest: Option[Manifest] = None
  @volatile private[this] var used = Set.empty[String]
  @volatile private[this] var cancelled = false
  private[this] var rewriteNext =
    false // from memory, if that has everything: a file was damaged or gone

  /** Data files that a snapshot under way builds on. */
  def inFlight: Set[String] = used

  /** What a restart started from: the next snapshot need not look for it. */
  def startFrom(manifest: Option[Manifest]): Unit = newest = manifest

  /** Lets a snapshot under way, and all later ones, fail with `CancellationException`. */
  def cancel(): Unit = cancelled = true

  /**
   * Writes run and manifest. When it throws, no manifest was written, and what else was is no part of
   * the checkpoint.
   *
   * @param full write the whole state as one run, whatever the plan says
   */
  def take(target: SnapshotTarget, full: Boolean = false): SnapshotReport = oneAtATime.synchronized {
    try {
      val (base, lineage) = baseOf(target.file)
      used = base.fold(Set.empty[String])(_.fileNames)
      val opened = ArrayBuffer.empty[ChangelogReader]
      try {
        lineage.changelogs.foreach(file => opened += ChangelogReader.open(store, file))
        val report = write(target, base, lineage, opened.toSeq, full)
        newest = Some(report.manifest)
        rewriteNext = false
        report
      } finally Closing.all(opened.toSeq)
    } catch {
      case e @ (_: CorruptException | _: MissingException) =>
        // Whatever was wrong with it: the next snapshot does not build on the same files blindly.
        newest = None
        rewriteNext = true
        throw e
    } finally used = Set.empty
  }

  /** @param changelogs newest first, at least that of the target */
  private def write(
      target: SnapshotTarget,
      base: Option[Manifest],
      lineage: Lineage,
      changelogs: Seq[ChangelogReader],
      full: Boolean
  ): SnapshotReport = {
    val newestLog = changelogs.headOption.getOrElse(throw nothingNew(target))
    target.commitId
      .filter(_ != newestLog.header.commitId)
      .foreach(expected => throw replaced(target, newestLog, expected))
    val older = base.fold(Seq.empty[Run])(_.runs)
    val keys = newestLog.families.iterator.map(_.keyCount).sum
    val incomingBytes = changelogs.iterator.map(_.length).sum
    val plan =
      if (full || (target.memory.nonEmpty && (rewriteNext || hasGap(changelogs)))) {
        CompactionPlan.Rewrite
      } else {
        val live = CompactionPlan.liveBytes(keys, older)
        CompactionPlan(incomingBytes, older.map(_.bytes), live, maxRuns)
      }
    val living = newestLog.families.iterator.map(_.descriptor.id).toSet
    // While it is held nothing settles, which costs memory: most snapshots do without it.
    if (plan != CompactionPlan.Rewrite) target.release()
    def incoming = new ChangeMerger(
      changelogs.zip(lineage.changelogs).map { case (reader, file) =>
        val path = s"${store.location}/${file.changelog}"
        val specs = reader.families.map(f => families.matching(path, f.descriptor))
        ChangelogBuckets.of(reader, path, new RecordPlaces(assigner, specs))
      },
      assigner.numBuckets,
      living
    )
    def oldRuns(some: Seq[Run], dropRemovals: Boolean) =
      new FamilyFilter(runs.readers.scanAll(some, dropRemovals), living)
    val first = base.fold(1L)(_.version + 1)
    val (span, records, kept) = plan match {
      case CompactionPlan.Append        => (first, incoming, older)
      case CompactionPlan.Merge(newest) =>
        val (merged, rest) = older.splitAt(newest)
        (
          merged.last.versions.first,
          new RunMerge(Seq(incoming, oldRuns(merged, dropRemovals = false)), dropRemovals = false),
          rest
        )
      case CompactionPlan.Rewrite =>
        val all = target.memory match {
          case Some(state) => new ChangeMerger(Seq(state), assigner.numBuckets)
          case None        =>
            new RunMerge(Seq(incoming, oldRuns(older, dropRemovals = true)), dropRemovals = true)
        }
        (1L, all, Nil)
    }
    val version = target.file.version
    val run = runs.writer.write(VersionSpan(span, version), new Stoppable(records), kept.isEmpty)
    try {
      if (kept.isEmpty && run.entries != keys) throw miscounted(target, keys, run.entries)
      val manifest = manifestOf(target, newestLog, run +: kept)
      requireThere(manifest, kept)
      manifests.write(manifest)
      val rewritten = if (plan == CompactionPlan.Append) 0L else run.bytes
      SnapshotReport(manifest, run.bytes, rewritten)
    } catch {
      // The manifest's reply may have been lost after it was there: then its run must stay.
      case failure: BucketstateException if !mayBeThere(target) =>
        run.files.foreach { file =>
          try store.delete(file.name)
          catch { case second: BucketstateException => failure.addSuppressed(second) }
        }
        throw failure
    }
  }

  /**
   * With checkpoint format 1: whether an attempt that was given up for lost has replaced a file after the
   * next version was built on it. Then memory knows better than the files.
   */
  private def hasGap(newestFirst: Seq[ChangelogReader]): Boolean =
    newestFirst.zip(newestFirst.drop(1)).exists { case (next, before) =>
      next.header.checkpointId.isEmpty &&
      next.header.baseId.exists(_ != before.header.commitId.toString)
    }

  private def manifestOf(target: SnapshotTarget, log: ChangelogReader, all: Seq[Run]): Manifest =
    Manifest(
      storeId,
      target.file.version,
      assigner.numBuckets,
      BucketAssigner.HashName,
      log.families.map { f =>
        val schema = schemas(f.descriptor.name)
        ManifestFamily(f.descriptor, f.keyCount, schema.map(_.key), schema.map(_.value))
      },
      all,
      Some(log.header.commitId),
      log.header.checkpointId,
      log.header.baseId.filter(_ => log.header.checkpointId.isDefined),
      Some(log.nextFamily)
    )

  /** The newest manifest below the target that leads to it, and the changelogs from there. */
  private def baseOf(target: Attempt): (Option[Manifest], Lineage) =
    newest
      .filter(_.version < target.version)
      .flatMap(leading(_, target))
      .orElse(search(target))
      .fold((Option.empty[Manifest], Lineage.of(store, target)(_ => false))) {
        case (manifest, lineage) => (Some(manifest), lineage)
      }

  private def search(target: Attempt): Option[(Manifest, Lineage)] = {
    val below = store.list().iterator.map(f => CheckpointFiles.parse(f.name)).collect {
      case Some(m: ManifestName) if m.version < target.version => m
    }
    val all = below.toSeq.sortBy(-_.version)
    lazy val data = store.list(CheckpointFiles.RunFolder).iterator.map(_.name).toSet
    all.iterator
      .flatMap(readable)
      .filter(_.fileNames.subsetOf(data))
      .flatMap(leading(_, target))
      .nextOption()
  }

  /** The manifest with the changelogs from it to the target, if it is of the target's history. */
  private def leading(manifest: Manifest, target: Attempt): Option[(Manifest, Lineage)] = {
    val lineage = Lineage.of(store, target)(_.version <= manifest.version)
    val isOnIt = lineage.base == manifest.attempt &&
      lineage.changelogs.lastOption.forall(next =>
        manifest.isBaseOf(ChangelogReader.readHeader(store, next))
      )
    Option.when(isOnIt)(manifest -> lineage)
  }

  private def readable(file: ManifestName): Option[Manifest] =
    try Some(manifests.read(file))
    catch { case _: CorruptException => None }

  /** Another executor may have deleted what is about to be named again (SPARK-55892). */
  private def requireThere(manifest: Manifest, reused: Seq[Run]): Unit =
    if (reused.exists(_.files.nonEmpty)) {
      val there = store.list(CheckpointFiles.RunFolder).iterator.map(_.name).toSet
      manifest.fileNames.find(name => !there(name)).foreach { name =>
        throw new MissingException(
          s"${store.location}/$name",
          s"the snapshot of version ${manifest.version} was to build on it",
          "The snapshot was not published; the next one does without the file."
        )
      }
    }

  private def mayBeThere(target: SnapshotTarget): Boolean =
    try
      store.exists(
        ManifestName(target.file).name
      )
    catch { case _: BucketstateException => true }

  private def nothingNew(target: SnapshotTarget) =
    new IllegalArgumentException(s"version ${target.file.version} is the empty store")

  private def replaced(target: SnapshotTarget, found: ChangelogReader, expected: UUID) =
    new ConflictException(
      s"${store.location}/${target.file.changelog} was replaced: expected commit $expected, found " +
        s"${found.header.commitId}",
      "Another attempt at the version won; the next snapshot takes what it left."
    )

  private def miscounted(target: SnapshotTarget, expected: Long, found: Long) =
    new CorruptException(
      s"${store.location}/${target.file.changelog}",
      s"version ${target.file.version} should hold $expected keys, its snapshot would hold $found",
      "No manifest was written; the changelogs and older manifests stay as they are. Please report it " +
        "together with a copy of the folder."
    )

  /** Ends the writing of a run soon after it was cancelled. */
  private final class Stoppable(records: RecordCursor) extends RecordCursor {
    def advance(): Boolean = {
      if (cancelled) throw new CancellationException("the store was closed")
      records.advance()
    }
    def family: Int = records.family
    def bucket: Int = records.bucket
    def record: Array[Byte] = records.record
    def op: Byte = records.op
    def close(): Unit = records.close()
  }
}

/** Spark's JSON of a family's schemas, for who reads the checkpoint without the query. */
final case class FamilySchemas(key: String, value: String)
