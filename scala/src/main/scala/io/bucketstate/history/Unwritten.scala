package io.bucketstate.history

import java.util.{Arrays, UUID}

import scala.util.Using

import io.bucketstate.checkpoint.changelog.{ChangelogFamily, ChangelogHeader, ChangelogReader}
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.manifest.Checkpoint
import io.bucketstate.checkpoint.records.RecordPlaces
import io.bucketstate.error.ConflictException
import io.bucketstate.record.ChangeSet
import io.bucketstate.rocksdb.state.ChangeParts.Change
import io.bucketstate.rocksdb.state.{ChangeParts, StateDatabase, WrittenVersion}

/** A version whose changes are to be written down in a database. */
private[bucketstate] trait Unwritten {

  /** About the bytes of heap that its changes take. */
  def bytes: Long

  /** Puts the changes into a database that holds the version before. */
  def writeTo(database: StateDatabase): WrittenVersion
}

private[bucketstate] object Unwritten {

  /** As the table has it, whose entries it keeps in memory. */
  final class Changes(
      changes: ChangeSet,
      attempt: Attempt,
      commitId: UUID,
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

  /**
   * A version as its changelog has it.
   *
   * @param base  that it was made on top of
   * @param point the version, which is not the empty store
   */
  final class Replayed(base: CommitPoint, point: CommitPoint, checkpoint: Checkpoint)
      extends Unwritten {
    import checkpoint.{assigner, families, folder}

    override def bytes: Long = 0L

    override def writeTo(database: StateDatabase): WrittenVersion =
      Using.resource(ChangelogReader.open(folder, point.attempt)) { log =>
        val path = s"${folder.location}/${point.attempt.changelog}"
        requireThat(log.header, path)
        val places =
          new RecordPlaces(assigner, log.families.map(f => families.matching(path, f.descriptor)))
        database.hold(log.families.map(_.descriptor))
        val parts = new ChangeParts(
          database,
          (into, change) => into.replay(change.family, change.bucket, change.op, change.record)
        )
        log.foreach { (block, op, bytes, offset, length) =>
          val bucket = places(block.family, bytes, offset)
          val record = Arrays.copyOfRange(bytes, offset, offset + length)
          parts.add(Change(block.family, bucket, op, record))
        }
        parts.flush()
        WrittenVersion(point.attempt, point.commitId, log.families)
      }

    private def requireThat(found: ChangelogHeader, path: String): Unit = {
      val isMeant = point.commitId.contains(found.commitId) &&
        (point.reading != 0L || EarlierCommits.names(point.attempt, found, base))
      if (!isMeant)
        throw new ConflictException(
          s"$path was replaced: expected commit ${point.commitId.mkString} on top of " +
            s"${base.commitId.mkString}, found ${found.commitId} on top of ${found.baseId.mkString}",
          "Another attempt at the version won; the next batch loads what it left."
        )
    }
  }
}
