package io.bucketstate.rocksdb.follower

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.manifest.{Checkpoint, Manifest}
import io.bucketstate.error.CorruptException
import io.bucketstate.history.CommitPoint
import io.bucketstate.rocksdb.state.{RunIngestion, StateDatabase, WrittenVersion}

/**
 * What the databases of a store begin with, and what they leave: files that an earlier one left on this machine, or else
 * those of a snapshot. Thread-safe.
 *
 * @param onDamage is told of a snapshot that cannot be taken over because of what is in one of its files
 */
private[bucketstate] final class DatabaseSource(
    checkpoint: Checkpoint,
    databases: Databases,
    onDamage: (Manifest, CorruptException) => Unit
) {
  import checkpoint.{families, folder, runs}

  private[this] val log = LoggerFactory.getLogger(classOf[DatabaseSource])
  private[this] val ingestion = new RunIngestion(
    runs,
    family => families.matching(folder.location, family).multiValued
  )

  /** Whether what they leave outlives them. */
  def areLasting: Boolean = databases.areLasting

  /**
   * A database that begins with the newest commit of the store which one before it has left; else with a snapshot, or,
   * without one, with the empty state. Tells what it holds; None, and there is none, if it was not wanted for a moment.
   *
   * @param isOurs   whether the store's history leads on from a commit
   * @param isWanted asked now and then; once it has said no, nothing more is done
   */
  def begin(
      from: Option[Manifest],
      isOurs: CommitPoint => Boolean,
      isWanted: () => Boolean
  ): Option[(StateDatabase, WrittenVersion)] =
    databases.resume((version, id) => isOurs(CommitPoint(version, Some(id)))).orElse {
      val created = databases.create()
      val holds = discardingIfFailed(created) {
        from.fold(Option(DatabaseSource.Empty)) { manifest =>
          try ingestion.into(created, manifest, isWanted)
          catch {
            case damage: CorruptException =>
              onDamage(manifest, damage)
              throw damage
          }
        }
      }
      if (holds.isEmpty) discard(created)
      holds.map(created -> _)
    }

  private def discardingIfFailed[A](database: StateDatabase)(body: => A): A =
    try body
    catch {
      case failure: Throwable =>
        discard(database)
        throw failure
    }

  /**
   * Leaves what a database holds to a later one. It is not needed, so whatever stands in the way stops nothing.
   *
   * @param isClosed whether the store was closed meanwhile, which ends what RocksDB writes
   */
  def leave(database: StateDatabase, version: WrittenVersion, isClosed: () => Boolean): Unit =
    try databases.leave(database, version)
    catch {
      case NonFatal(e) =>
        val what = s"Version ${version.version} of ${folder.location} is not left on this machine"
        if (isClosed()) log.info(s"$what: its store was closed before it was written")
        else log.warn(what, e)
    }

  /** A database turned out to be of no use: what was left may be of the same files. */
  def forget(): Unit = databases.forget()

  /** Closes one, and deletes its folder. */
  def discard(database: StateDatabase): Unit =
    try databases.discard(database)
    catch {
      case NonFatal(e) => log.warn(s"A local database of ${folder.location} may be left", e)
    }

  /** There will be no other. */
  def close(): Unit = databases.close()
}

private object DatabaseSource {
  private val Empty = WrittenVersion(Attempt(0L), None, Nil)
}
