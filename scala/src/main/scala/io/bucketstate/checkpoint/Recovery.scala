package io.bucketstate.checkpoint

import java.util.UUID

import scala.collection.mutable

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.CheckpointFiles.Changelog
import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{ChangedSetting, CorruptException, InvalidException}
import io.bucketstate.table.{FamilySpec, RecordBuffer, VersionedTable}

/**
 * A version brought back from its files.
 *
 * @param writer who wrote the newest changelog that was read, if any was
 */
final case class Recovered(table: VersionedTable, writer: Option[UUID])

/**
 * Carries out a [[RecoveryPlan]]: replays changelogs into a fresh table. Checks what the checksums of
 * single files cannot: that the files were written with the same buckets and encodings as are in use
 * now, and that the keys counted after each version are as many as its changelog says.
 *
 * Only reads. Thread-safe.
 *
 * @param families the column families the store has now, with their encodings
 */
final class Recovery(
    store: FileStore,
    assigner: BucketAssigner,
    families: Seq[(FamilySpec, FamilyDescriptor)]
) {

  /** The state at `version`, 0 being the empty store. */
  def load(version: Long): Recovered = {
    val plan = RecoveryPlan.to(version)
    val table = new VersionedTable(assigner, version)
    families.foreach { case (spec, _) => table.family(spec) }
    var writer: Option[UUID] = None
    plan.changelogs.foreach(v => writer = Some(replay(Changelog(v), table)))
    Recovered(table, writer)
  }

  private def replay(file: Changelog, table: VersionedTable): UUID = {
    val reader = ChangelogReader.readWhole(store, file)
    try {
      checkBuckets(file, reader.header)
      val loaders = mutable.HashMap.empty[Int, Loader]
      reader.families.foreach { family =>
        val spec = specOf(file, family.descriptor)
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
      key.keyOf(bytes, offset, spec.bucketKey)
      op match {
        case ChangelogOp.Put =>
          load(key, java.util.Arrays.copyOfRange(bytes, offset, offset + length))
        case ChangelogOp.Remove => load(key, null)
        case other              =>
          throw new CorruptException(
            path(file),
            s"version ${file.version} has a record of kind $other, expected PUT or REMOVE",
            "It was written by a newer bucketstate: upgrade, or start from another checkpoint."
          )
      }
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

  private def specOf(file: Changelog, stored: FamilyDescriptor): FamilySpec =
    families.find(_._2.id == stored.id) match {
      case Some((spec, `stored`)) => spec
      case found                  =>
        throw new InvalidException(
          s"${path(file)} holds the column family $stored, the query now expects " +
            found.fold("none of that number")(_._2.toString),
          "Restart with the query that wrote the checkpoint, or from a new checkpoint location."
        )
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
