package io.bucketstate.checkpoint

import java.util.UUID

import scala.collection.mutable

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.CheckpointFiles.Changelog
import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{ChangedSetting, CorruptException, InvalidException, MissingException}
import io.bucketstate.table.{FamilySpec, RecordBuffer, VersionedTable}

/**
 * A version brought back from its files.
 *
 * @param writer who wrote the newest changelog that was read, if any was
 */
final case class Recovered(table: VersionedTable, writer: Option[UUID])

/**
 * Carries out a [[RecoveryPlan]]: replays the changelogs of a [[Lineage]] into a fresh table. Checks
 * what the checksums of single files cannot: that the files were written with the same buckets and
 * encodings as are in use now, and that the keys counted after each version are as many as its
 * changelog says.
 *
 * Only reads. Thread-safe.
 */
final class Recovery(
    store: FileStore,
    assigner: BucketAssigner,
    families: KnownFamilies
) {

  /**
   * The state at `version`, 0 being the empty store.
   *
   * @param checkpointId tells attempts at the version apart; None for one that was written without
   */
  def load(version: Long, checkpointId: Option[String]): Recovered = {
    val plan = RecoveryPlan.to(version)
    val target = Changelog(version, checkpointId)
    replayAll(target, Lineage.of(store, target)(_.version <= plan.base).inOrder)
  }

  /**
   * The state at `version`, by way of the state at `snapshot` as the checkpoint gives it: whatever that
   * is restored from, the changelogs after it are replayed one by one. That there is no snapshot file of
   * just that version is no error.
   */
  def loadFrom(snapshot: Changelog, target: Changelog): Recovered = {
    val after = Lineage.of(store, target)(_.version <= snapshot.version)
    if (after.base != snapshot) {
      throw Lineage.corrupt(
        store,
        target,
        s"expected version ${target.version} with the checkpoint id ${Lineage.idOf(target)} to be " +
          s"built on version ${snapshot.version} with the checkpoint id ${Lineage.idOf(snapshot)}, " +
          s"found it built on ${Lineage.idOf(after.base)}"
      )
    }
    val base = Lineage.of(store, snapshot)(_ => false)
    replayAll(target, base.inOrder ++ after.inOrder)
  }

  private def replayAll(target: Changelog, files: Seq[(Changelog, Changelog)]): Recovered = {
    val table = new VersionedTable(assigner, target.version)
    families.all.foreach { case (spec, _) => table.family(spec) }
    var writer: Option[UUID] = None
    files.foreach { case (file, base) => writer = Some(replay(file, base, table)) }
    Recovered(table, writer)
  }

  private def replay(file: Changelog, base: Changelog, table: VersionedTable): UUID = {
    val reader = readWhole(file)
    try {
      checkBase(file, base, reader.header)
      checkBuckets(file, reader.header)
      val loaders = mutable.HashMap.empty[Int, Loader]
      reader.families.foreach { family =>
        val spec = families.matching(path(file), family.descriptor)
        loaders(spec.id) = new Loader(spec, table.loader(spec))
      }
      reader.foreach((block, op, bytes, offset, length) =>
        loaders(block.family).apply(file, op, bytes, offset, length)
      )
      reader.families.foreach { family =>
        val found = table.families.find(_.spec.id == family.descriptor.id).fold(0L)(_.keyCount)
        if (found != family.keyCount) throw miscounted(file, family, found)
      }
      reader.header.writerId
    } finally reader.close()
  }

  private final class Loader(spec: FamilySpec, load: (RecordBuffer, Array[Byte]) => Unit) {
    private[this] val key = new RecordBuffer(assigner)

    def apply(file: Changelog, op: Byte, bytes: Array[Byte], offset: Int, length: Int): Unit = {
      ChangelogOp.requireApplicable(op, path(file))
      key.keyOf(bytes, offset, spec.bucketKey)
      if (op == ChangelogOp.Remove) load(key, null)
      else load(key, java.util.Arrays.copyOfRange(bytes, offset, offset + length))
    }
  }

  private def readWhole(file: Changelog): ChangelogReader =
    try ChangelogReader.readWhole(store, file)
    catch {
      case e: MissingException if file.checkpointId.isEmpty && writtenWithIds(file.version) =>
        throw new MissingException(
          path(file),
          s"version ${file.version} was asked for without a checkpoint id, but was written with one",
          "Run the query with spark.sql.streaming.stateStore.checkpointFormatVersion=2, the setting " +
            "that this version was written with.",
          e
        )
    }

  /** Lists the folder; for the words of an error only. */
  private def writtenWithIds(version: Long): Boolean =
    store.list().iterator.map(f => CheckpointFiles.parse(f.name)).exists {
      case Some(Changelog(`version`, id)) => id.isDefined
      case _                              => false
    }

  /** Headers were read before, one by one: what is replayed must still be what was found then. */
  private def checkBase(file: Changelog, base: Changelog, header: ChangelogHeader): Unit = {
    val found = Lineage.baseOf(store, file, header)
    if (found != base) {
      throw Lineage.corrupt(
        store,
        file,
        s"expected version ${file.version} with the checkpoint id ${Lineage.idOf(file)} to be built " +
          s"on the checkpoint id ${Lineage.idOf(base)}, found ${Lineage.idOf(found)}"
      )
    }
  }

  private def checkBuckets(file: Changelog, header: ChangelogHeader): Unit = {
    if (header.numBuckets != assigner.numBuckets) {
      val (stored, current) = (header.numBuckets.toString, assigner.numBuckets.toString)
      throw new InvalidException(
        s"${path(file)} was written with ${ConfigKey.NumBuckets.key}=$stored, it is now $current",
        s"The number of buckets is fixed for the life of a checkpoint: set it back to $stored, or " +
          "start from a new checkpoint location.",
        changed = Some(ChangedSetting(ConfigKey.NumBuckets.key, stored, current))
      )
    }
    if (header.hashFunction != BucketAssigner.HashName) {
      throw new InvalidException(
        s"${path(file)} was written with the hash function '${header.hashFunction}', this version " +
          s"knows '${BucketAssigner.HashName}'",
        "It was written by a newer bucketstate: upgrade, or start from a new checkpoint location."
      )
    }
  }

  private def miscounted(file: Changelog, family: ChangelogFamily, found: Long): CorruptException =
    new CorruptException(
      path(file),
      s"after version ${file.version} the column family '${family.descriptor.name}' should hold " +
        s"${family.keyCount} keys, but replaying the changelogs gives $found",
      "A changelog was replaced by one of another history. Restore the folder from a copy, or start " +
        "from a new checkpoint location."
    )

  private def path(file: Changelog): String = s"${store.location}/${file.name}"
}
