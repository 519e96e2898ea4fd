package io.bucketstate.store

import java.util.{Arrays, UUID}

import scala.util.Using

import io.bucketstate.checkpoint.changelog.{ChangelogFamily, ChangelogReader}
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.manifest.Checkpoint
import io.bucketstate.checkpoint.records.RecordPlaces
import io.bucketstate.checkpoint.recovery.ReplayedVersion
import io.bucketstate.error.ConflictException
import io.bucketstate.rocksdb.{StateDatabase, WrittenVersion}
import io.bucketstate.table.ChangeSet

/** A version whose changes are to be written down in a database. */
private[store] sealed trait Unwritten {
  def attempt: Attempt

  def commitId: UUID

  /** About the bytes of heap, or of file, that its changes take. */
  def bytes: Long

  /** Puts the changes into a database that holds the version before. */
  def writeTo(database: StateDatabase): WrittenVersion

  final def version: Long = attempt.version
}

private[store] object Unwritten {

  /** As the table has it, whose entries it keeps in memory. */
  final class Changes(
      changes: ChangeSet,
      override val attempt: Attempt,
      override val commitId: UUID,
      override val bytes: Long
  ) extends Unwritten {

    override def writeTo(database: StateDatabase): WrittenVersion = {
      database.hold(changes.families.map(_.descriptor))
      database.change { into =>
        changes.families.foreach { family =>
          val number = family.descriptor.id
          family.replay((bucket, op, record) => into(number, bucket, op, record))
        }
      }
      WrittenVersion(attempt, Some(commitId), changes.families.map(ChangelogFamily.of))
    }
  }

  /** As its changelog has it, which a table was restored from. */
  final class Replayed(of: ReplayedVersion, checkpoint: Checkpoint) extends Unwritten {
    import checkpoint.{assigner, families, store}

    override def attempt: Attempt = of.attempt

    override def commitId: UUID = of.commitId

    override def bytes: Long = 0L // not in memory

    override def writeTo(database: StateDatabase): WrittenVersion =
      Using.resource(ChangelogReader.open(store, attempt)) { log =>
        val path = s"${store.location}/${attempt.changelog}"
        if (log.header.commitId != commitId) throw replaced(path, log.header.commitId)
        val places =
          new RecordPlaces(assigner, log.families.map(f => families.matching(path, f.descriptor)))
        database.hold(log.families.map(_.descriptor))
        database.change { into =>
          log.foreach { (block, op, bytes, offset, length) =>
            val bucket = places(block.family, bytes, offset)
            into(block.family, bucket, op, Arrays.copyOfRange(bytes, offset, offset + length))
          }
        }
        WrittenVersion(attempt, Some(commitId), log.families)
      }

    private def replaced(path: String, found: UUID) = new ConflictException(
      s"$path was replaced: expected commit $commitId, found $found",
      "Another attempt at the version won; the next batch loads what it left."
    )
  }
}
