package io.bucketstate.store

import java.io.IOException
import java.util.UUID

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.bucketstate.checkpoint.changelog.{ChangelogReader, Lineage}
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.manifest.{Checkpoint, Manifest}
import io.bucketstate.checkpoint.recovery.ReplayedVersion
import io.bucketstate.error.{CorruptException, MissingException, UnavailableException}
import io.bucketstate.rocksdb.{RunIngestion, StateDatabase, WrittenVersion}

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
  import checkpoint.{families, runs, store}

  private[this] val log = LoggerFactory.getLogger(classOf[DatabaseSource])
  private[this] val ingestion = new RunIngestion(
    runs,
    family => families.matching(store.location, family).multiValued
  )

  /** Whether what they leave outlives them. */
  def areLasting: Boolean = databases.areLasting

  /**
   * A database that holds one of these commits of the store, if one was left of them; else a snapshot, or, without one, the
   * empty state. Tells what it holds.
   *
   * @param isWanted asked now and then; what was begun is of no use once it says no
   */
  def begin(
      from: Option[Manifest],
      commits: Map[Attempt, UUID],
      isWanted: () => Boolean
  ): (StateDatabase, WrittenVersion) = resumed(from, commits).getOrElse {
    val created = databases.create()
    discardingIfFailed(created) {
      created -> from.fold(DatabaseSource.Empty) { manifest =>
        try ingestion.into(created, manifest, isWanted)
        catch {
          case damage: CorruptException =>
            onDamage(manifest, damage)
            throw damage
        }
      }
    }
  }

  private def resumed(
      from: Option[Manifest],
      commits: Map[Attempt, UUID]
  ): Option[(StateDatabase, WrittenVersion)] =
    databases.left.map(_.version).minOption.flatMap { oldest =>
      // The last snapshot may have been published shortly before the end, and nothing left for it.
      val earlier = from
        .filter(m => commits.contains(m.attempt) && oldest < m.version)
        .fold(Seq.empty[ReplayedVersion])(upTo(_, oldest))
      databases.resume(commits ++ earlier.map(v => v.attempt -> v.commitId)).map {
        case (database, left) =>
          discardingIfFailed(database) {
            val later = earlier.filter(_.attempt.version > left.version)
            database -> later.foldLeft(left) { (_, version) =>
              new Unwritten.Replayed(version, checkpoint).writeTo(database)
            }
          }
      }
    }

  /** The versions from one up to that of a snapshot, as long as each was made on top of the one before it; else none. */
  private def upTo(manifest: Manifest, oldest: Long): Seq[ReplayedVersion] =
    try {
      val versions = Lineage
        .of(store, manifest.attempt)(_.version < oldest)
        .changelogs
        .map(file => file -> ChangelogReader.readHeader(store, file))
      val fit = versions.zip(versions.drop(1)).forall { case ((file, header), (_, before)) =>
        file.checkpointId.isDefined || header.baseId.forall(_ == before.commitId.toString)
      }
      if (!fit || !versions.headOption.exists(v => manifest.covers(v._2))) Nil
      else
        versions.reverse.map { case (file, header) => ReplayedVersion(file, header.commitId, 0L) }
    } catch { case _: MissingException | _: CorruptException | _: UnavailableException => Nil }

  private def discardingIfFailed[A](database: StateDatabase)(body: => A): A =
    try body
    catch {
      case failure: Throwable =>
        discard(database)
        throw failure
    }

  /** Leaves what a database holds to a later one. It is not needed, so a disk that refuses it stops nothing. */
  def leave(database: StateDatabase, version: WrittenVersion): Unit =
    try databases.leave(database, version)
    catch {
      case e @ (_: IOException | _: UnavailableException) =>
        log.warn(s"Version ${version.version} of ${store.location} is not left on this machine", e)
    }

  /** A database turned out to be of no use: what was left may be of the same files. */
  def forget(): Unit = databases.forget()

  /** Closes one, and deletes its folder. */
  def discard(database: StateDatabase): Unit =
    try databases.discard(database)
    catch {
      case NonFatal(e) => log.warn(s"A local database of ${store.location} may be left", e)
    }

  /** There will be no other. */
  def close(): Unit = databases.close()
}

private object DatabaseSource {
  private val Empty = WrittenVersion(Attempt(0L), None, Nil)
}
