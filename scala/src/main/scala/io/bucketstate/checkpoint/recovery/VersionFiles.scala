package io.bucketstate.checkpoint.recovery

import java.util.UUID

import scala.util.Using

import org.slf4j.LoggerFactory

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.changelog.{
  ChangelogBuckets,
  ChangelogHeader,
  ChangelogReader,
  Lineage,
  MissingIds
}
import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.checkpoint.manifest.Manifest
import io.bucketstate.checkpoint.records.{KnownFamilies, RecordPlaces}
import io.bucketstate.checkpoint.run.{Run, RunAccess}
import io.bucketstate.table.{LoadHost, StateTables}

/**
 * Makes a table of a manifest and changelogs that were found to lead to a version. Checks what the
 * checksums of single files cannot: that they were written with the same buckets and encodings as are
 * in use now. Reads the manifest's runs only when buckets are touched. Thread-safe.
 */
private[checkpoint] final class VersionFiles(
    store: FileStore,
    assigner: BucketAssigner,
    families: KnownFamilies,
    runs: RunAccess,
    host: LoadHost
) {
  import VersionFiles._

  private[this] val log = LoggerFactory.getLogger(classOf[VersionFiles])

  /**
   * @param lineage  from the target back to the manifest, or to the empty store
   * @param onDamage is told when, then or later, a run turns out to be damaged or gone
   */
  def open(
      target: Attempt,
      manifest: Option[Manifest],
      lineage: Lineage,
      onDamage: () => Unit
  ): Recovered = {
    manifest.foreach(checkManifest)
    var held = 0L
    val opened = lineage.inOrder.map { case (file, base) =>
      val changelog = openChangelog(file, base, hold = held < HeldBytes)
      held += changelog.reader.length
      changelog
    }
    checkChain(manifest, opened)
    val counts = opened.lastOption.fold(
      manifest.iterator.flatMap(_.families).map(f => f.descriptor -> f.keyCount).toSeq
    )(_.reader.families.map(f => f.descriptor -> f.keyCount))
    val names = counts.map { case (descriptor, _) => descriptor.id -> descriptor.name }.toMap
    val loader = new BucketFiles(
      counts.map { case (descriptor, keys) => descriptor.id -> keys }.toMap,
      () => runs.readers,
      manifest.fold(Seq.empty[Run])(_.runs),
      opened.map(_.buckets),
      onDamage,
      (family, found) => {
        val expected =
          counts.collectFirst { case (d, keys) if d.id == family => keys }.getOrElse(0L)
        StoredChecks.miscounted(path(target), target.version, names(family), expected, found)
      }
    )
    val table = StateTables.heap(
      assigner,
      target.version,
      counts.map { case (descriptor, _) => families.matching(path(target), descriptor) },
      opened.lastOption
        .map(_.reader.nextFamily)
        .orElse(manifest.map(_.firstFreeFamily))
        .getOrElse(0),
      loader,
      host
    )
    Recovered(
      table,
      opened.lastOption.map(_.reader.header.commitId).orElse(manifest.flatMap(_.commitId)),
      manifest,
      opened.map(o => o.file.version -> o.reader.length)
    )
  }

  private def checkManifest(manifest: Manifest): Unit = {
    val path = s"${store.location}/${manifest.file.name}"
    StoredChecks.buckets(path, manifest.numBuckets, manifest.hashFunction, assigner)
    manifest.families.foreach(f => families.matching(path, f.descriptor))
  }

  /** @param hold whether the file stays in memory until all buckets are loaded */
  private def openChangelog(file: Attempt, base: Attempt, hold: Boolean): Opened = {
    val reader = new MissingIds(store).explained(file) {
      if (hold) ChangelogReader.readWhole(store, file) else ChangelogReader.open(store, file)
    }
    // What is in memory is verified at once; of the rest, each block when it is read.
    if (hold) reader.verifyBlocks() else reader.close()
    checkBase(file, base, reader.header)
    StoredChecks.buckets(path(file), reader.header.numBuckets, reader.header.hashFunction, assigner)
    val places = new RecordPlaces(
      assigner,
      reader.families.map(f => families.matching(path(file), f.descriptor))
    )
    val reading: (ChangelogReader => Unit) => Unit =
      if (hold) use => use(reader)
      else use => Using.resource(ChangelogReader.open(store, file))(use)
    Opened(file, reader, new ChangelogBuckets(reading, reader.blocks, path(file), places))
  }

  /** Headers were read before, one by one: what is replayed must still be what was found then. */
  private def checkBase(file: Attempt, base: Attempt, header: ChangelogHeader): Unit = {
    val found = Lineage.baseOf(store, file, header)
    if (found != base) {
      throw Lineage.corrupt(
        store,
        file,
        s"expected version ${file.version} with the checkpoint id ${file.idText} to be built " +
          s"on the checkpoint id ${base.idText}, found ${found.idText}"
      )
    }
  }

  /**
   * With checkpoint format 1, an attempt that was given up for lost may replace a version's file after
   * the next version was built on it. Such a file is used: it ran the same batch on the same base, and is
   * all there is; with format 2 it could not have happened. A file that was not even built on the one
   * before it is of another history, and an error.
   */
  private def checkChain(manifest: Option[Manifest], opened: Seq[Opened]): Unit = {
    var fits = true // whether the file before was built on the one before it
    var last = manifest.flatMap(_.commitId)
    opened.foreach { changelog =>
      val header = changelog.reader.header
      val base = if (header.checkpointId.isEmpty) header.baseId else None
      val wasFitting = fits
      fits = base.forall(id => last.forall(_.toString == id))
      if (!fits && !wasFitting) throw ofAnotherHistory(changelog.file, last, base)
      if (!fits) log.warn(replacedLater(changelog.file, last, base))
      last = Some(header.commitId)
    }
  }

  private def ofAnotherHistory(file: Attempt, before: Option[UUID], base: Option[String]) =
    Lineage.corrupt(
      store,
      file,
      s"expected version ${file.version} to be built on commit ${before.mkString} of version " +
        s"${file.version - 1}, found it built on ${base.mkString}; the file before it does not fit its " +
        "own base either, so a file was replaced by one of another history"
    )

  private def replacedLater(file: Attempt, before: Option[UUID], base: Option[String]): String =
    s"${path(file)} was built on commit ${base.mkString}, but the file of version ${file.version - 1} is " +
      s"of commit ${before.mkString}: another attempt at the same batch has replaced it since. " +
      "spark.sql.streaming.stateStore.checkpointFormatVersion=2 keeps attempts apart."

  private def path(file: Attempt): String = s"${store.location}/${file.changelog}"
}

private object VersionFiles {

  /** Changelogs up to so many bytes in all stay in memory until all buckets are loaded. */
  private final val HeldBytes = 256L << 20

  private final case class Opened(
      file: Attempt,
      reader: ChangelogReader,
      buckets: ChangelogBuckets
  )
}
