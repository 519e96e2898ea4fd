package io.bucketstate.rocksdb.state

import java.nio.file.{Files, Path}

import io.bucketstate.checkpoint.manifest.Manifest
import io.bucketstate.checkpoint.run.read.RunAccess
import io.bucketstate.checkpoint.run.{BucketSpan, Run, RunFile, RunFormat}
import io.bucketstate.record.FamilyDescriptor
import io.bucketstate.rocksdb.NativeErrors
import io.bucketstate.rocksdb.state.ChangeParts.Change

/**
 * Makes an empty database hold what a manifest's runs hold: their files become files of the database, under a second name
 * and not rewritten, the oldest first, so that each entry hides the older ones of its key.
 *
 * Only what newer runs append to a key is no entry that could hide another one: of families with several values they are
 * read, and written as changes.
 *
 * @param isMultiValued whether values can be appended to what a key of a family has
 */
final class RunIngestion(runs: RunAccess, isMultiValued: FamilyDescriptor => Boolean) {

  /**
   * @param isWanted asked now and then; once it has said no, nothing more is done
   * @return what the database holds then; None if it does not hold all of it, because it was not wanted for a moment
   */
  def into(
      database: StateDatabase,
      manifest: Manifest,
      isWanted: () => Boolean
  ): Option[WrittenVersion] = {
    val families = manifest.families.map(_.descriptor)
    database.hold(families)
    val parts = for {
      (run, age) <- manifest.runs.reverseIterator.zipWithIndex
      family <- families.iterator
    } yield (run, age, family)
    // Whoever wants it again later must not take a part of it for the whole.
    val isWhole = parts.forall { case (run, age, family) =>
      isWanted() && {
        if (age > 0 && isMultiValued(family)) replay(run, family.id, database, isWanted)
        else {
          take(run, family.id, database)
          true
        }
      }
    }
    Option.when(isWhole) {
      WrittenVersion(manifest.attempt, manifest.commitId, manifest.families.map(_.described))
    }
  }

  private def take(run: Run, family: Int, database: StateDatabase): Unit = {
    val (mixed, own) = run.files.filter(has(family)).partition(_.buckets.exists(_.family != family))
    Seq(mixed -> true, own -> false).filter(_._1.nonEmpty).foreach { case (files, isMixed) =>
      val folder = database.folder.resolve("ingest")
      val links = files.zipWithIndex.map { case (file, n) => link(file, folder, s"$n.sst") }
      database.ingest(family, links, isMixed)
    }
  }

  private def link(file: RunFile, folder: Path, name: String): Path = {
    val target = folder.resolve(name)
    NativeErrors.writing(folder, "could not be written") {
      Files.createDirectories(folder)
      Files.deleteIfExists(target)
    }
    runs.link(file, target)
    target
  }

  /** False if it ended before the run did. */
  private def replay(
      run: Run,
      family: Int,
      database: StateDatabase,
      isWanted: () => Boolean
  ): Boolean = {
    val span = BucketSpan(family, 0, RunFormat.MaxBucket)
    val parts = new ChangeParts(
      database,
      (into, change) => into.replay(change.family, change.bucket, change.op, change.record)
    )
    val records = runs.readers.scan(Seq(run), span, dropRemovals = false)
    try {
      var goesOn = isWanted()
      while (goesOn && records.advance()) {
        parts.add(Change(family, records.bucket, records.op, records.record))
        goesOn = isWanted()
      }
      parts.flush()
      goesOn
    } finally records.close()
  }

  private def has(family: Int)(file: RunFile): Boolean = file.buckets.exists(_.family == family)
}
