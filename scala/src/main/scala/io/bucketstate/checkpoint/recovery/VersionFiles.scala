package io.bucketstate.checkpoint.recovery

import io.bucketstate.checkpoint.changelog.{
  ChangelogChain,
  ChangelogFamily,
  ChangelogHeader,
  ChangelogReader,
  ChangelogTail,
  Lineage,
  MissingChangelog,
  TailChangelog
}
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.manifest.{Checkpoint, Manifest, ManifestState}
import io.bucketstate.checkpoint.records.RecordPlaces
import io.bucketstate.error.BucketstateException
import io.bucketstate.table.{StateTables, TableHost}

/**
 * Makes a table of a manifest and changelogs that were found to lead to a version. Checks what the
 * checksums of single files cannot: that they were written with the same buckets and encodings as are
 * in use now. Reads the manifest's runs only when buckets are touched. Thread-safe.
 */
private[checkpoint] final class VersionFiles(
    checkpoint: Checkpoint,
    host: TableHost
) {
  import VersionFiles._
  import checkpoint.{assigner, buckets, families, folder, runs}

  /**
   * @param lineage  from the target back to the manifest, or to the empty store
   * @param lengths  of the store's files by name, as far as they are known
   * @param onDamage is told what is wrong when, then or later, a run turns out to be damaged or gone
   */
  def open(
      target: Attempt,
      manifest: Option[Manifest],
      lineage: Lineage,
      lengths: Map[String, Long],
      onDamage: BucketstateException => Unit
  ): Recovered = {
    manifest.foreach(checkManifest)
    val tail = tailOf(lineage, lengths)
    val opened = tail.oldestFirst
    val replaced = replacedOf(manifest, opened)
    val said = opened.lastOption.fold(
      manifest.toSeq.flatMap(_.families).map(_.described)
    )(_.opened.families)
    val nextFamily =
      opened.lastOption.map(_.opened.nextFamily).orElse(manifest.map(_.firstFreeFamily))
    // Whoever counted on what was replaced may be wrong, also in that nothing is left.
    val knowsEmpty = replaced.isEmpty
    def loader(counts: Seq[ChangelogFamily], tail: ChangelogTail, isCertain: Boolean) =
      loaderOf(target, counts, manifest, tail, onDamage, knowsEmpty, isCertain)
    def tableOf(counts: Seq[ChangelogFamily], loader: FileBucketLoader) =
      StateTables.heap(
        assigner,
        target.version,
        counts.map(f => families.matching(path(target), f.descriptor)),
        nextFamily.getOrElse(0),
        loader,
        host,
        families.countsExactly
      )
    val wrong = said.filter { f =>
      // From now on its records have times, and are counted by them.
      f.keyCount.isEmpty && families.matching(path(target), f.descriptor).expiry.isDefined ||
      f.times.isDefined && replaced.nonEmpty
    }
    val counted =
      if (wrong.isEmpty) said
      else {
        val anew = loader(said, tailOf(lineage, lengths), isCertain = false)
        Recount.of(said, wrong, tableOf(said, anew))
      }
    val buckets = loader(counted, tail, isCertain = true)
    Recovered(
      tableOf(counted, buckets),
      opened.lastOption.map(_.opened.header.commitId).orElse(manifest.flatMap(_.commitId)),
      manifest,
      opened.map(o => ReplayedVersion(o.file, o.opened.header.commitId, o.opened.length)),
      replaced = replaced,
      loader = buckets
    )
  }

  private def tailOf(lineage: Lineage, lengths: Map[String, Long]): ChangelogTail = {
    var held = 0L
    new ChangelogTail(lineage.inOrder.toIndexedSeq.map { case (file, base) =>
      val length = lengths.get(file.changelog)
      val short = length.exists(_ <= math.min(HeldFileBytes, heldBytes - held))
      val changelog = openChangelog(file, base, length, hold = short)
      if (changelog.isVerified) held += changelog.opened.length
      changelog
    })
  }

  /**
   * @param knowsEmpty whether families that are said to hold nothing are not looked at
   * @param isCertain  whether what the families are said to hold is held against what they do
   */
  private def loaderOf(
      target: Attempt,
      counts: Seq[ChangelogFamily],
      manifest: Option[Manifest],
      tail: ChangelogTail,
      onDamage: BucketstateException => Unit,
      knowsEmpty: Boolean,
      isCertain: Boolean
  ): FileBucketLoader = {
    val byNumber = counts.map(f => f.descriptor.id -> f).toMap
    new FileBucketLoader(
      byNumber,
      manifest.map(new ManifestState(_, () => runs.readers, onDamage)),
      tail,
      knowsEmpty,
      (family, expected, found) =>
        if (isCertain) {
          val name = byNumber(family).descriptor.name
          val wrong = StoredChecks.miscounted(path(target), target.version, name, expected, found)
          onDamage(wrong)
          throw wrong
        }
    )
  }

  private def checkManifest(manifest: Manifest): Unit = {
    val path = s"${folder.location}/${manifest.file.name}"
    buckets.require(path, manifest.numBuckets, manifest.hashFunction)
    manifest.families.foreach(f => families.matching(path, f.descriptor))
  }

  /** @param hold whether the file stays in memory until all buckets are loaded */
  private def openChangelog(
      file: Attempt,
      base: Attempt,
      length: Option[Long],
      hold: Boolean
  ): TailChangelog = {
    val opened = new MissingChangelog(folder).explained(file, file) {
      if (hold) ChangelogReader.readWhole(folder, file, length)
      else ChangelogReader.open(folder, file, length)
    }
    // What is in memory is verified at once; of the rest each block when it is read, and all before the
    // first commit.
    if (hold) opened.verifyBlocks() else opened.close()
    checkBase(file, base, opened.header)
    buckets.require(path(file), opened.header.numBuckets, opened.header.hashFunction)
    val specs = opened.families.map(f => families.matching(path(file), f.descriptor))
    new TailChangelog(folder, file, opened, isHeld = hold, new RecordPlaces(assigner, specs))
  }

  /** Bytes of changelogs that may stay in memory until all buckets are loaded. */
  private def heldBytes: Long =
    if (folder.localPath("").isDefined) HeldLocally else HeldRemotely

  /** Headers were read before, one by one: what is replayed must still be what was found then. */
  private def checkBase(file: Attempt, base: Attempt, header: ChangelogHeader): Unit = {
    val found = Lineage.baseOf(folder, file, header)
    if (found != base) {
      throw Lineage.corrupt(
        folder,
        file,
        s"expected version ${file.version} with the checkpoint id ${file.idText} to be built " +
          s"on the checkpoint id ${base.idText}, found ${found.idText}"
      )
    }
  }

  /** The versions whose files were replaced when the next one was built on them already. */
  private def replacedOf(manifest: Option[Manifest], opened: Seq[TailChangelog]): Seq[Long] = {
    val chain = new ChangelogChain(folder, manifest.flatMap(_.commitId))
    opened.filterNot(c => chain.fits(c.file, c.opened.header)).map(_.file.version - 1)
  }

  private def path(file: Attempt): String = s"${folder.location}/${file.changelog}"
}

private object VersionFiles {

  /** From a local disk a block is there in no time; what is held is what is verified before all else. */
  private final val HeldLocally = 16L << 20

  /** Elsewhere each block is a request. */
  private final val HeldRemotely = 256L << 20

  /** Longer files are always read block by block. */
  private final val HeldFileBytes = 64L << 20
}
