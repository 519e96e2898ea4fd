package io.bucketstate.rocksdb.state

import java.nio.file.{Files, Path}
import java.util.UUID

import scala.util.Using

import io.bucketstate.checkpoint.changelog.ChangelogFamily
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.record.{BucketAssigner, ColdState}
import io.bucketstate.rocksdb.Databases
import io.bucketstate.testkit.{Changes, ColdStateContract, SnapshotRoom, TempFolder, TextRecords}

private object NativeStateSuite {
  private val assigner = new BucketAssigner(4)

  def use[A](folder: Path)(body: StateDatabase => A): A =
    Databases.withOptions(Databases.Plain) { options =>
      Using.resource(StateDatabase.create(folder, options))(body)
    }

  /** What a database holds once a history was written to it. */
  def writtenDown(history: Seq[Map[String, Option[String]]], to: StateDatabase): WrittenVersion = {
    val families = (0 until 3).map(Changes.descriptor)
    to.hold(families)
    history.foreach(write(to, _))
    val model = history.foldLeft(Map.empty[String, String])(SnapshotRoom.after(_, _))
    val keys = model.keys.groupMapReduce(SnapshotRoom.placeOf(_)._1)(_ => 1L)(_ + _)
    WrittenVersion(
      Attempt(history.size.toLong),
      Some(new UUID(1L, history.size.toLong)),
      families.map(family => ChangelogFamily(family, Some(keys.getOrElse(family.id, 0L))))
    )
  }

  def write(database: StateDatabase, changes: Map[String, Option[String]]): Unit =
    database.change { into =>
      changes.foreach { case (name, value) =>
        val (family, key) = SnapshotRoom.placeOf(name)
        val (op, text) = SnapshotRoom.opOf(value)
        val record = TextRecords.record(key, text, assigner)
        into.replay(family, record.bucket, op, record.toRecord)
      }
    }
}

/** A database that took over change after change, which go on while the state is read. */
class WrittenStateSuite extends ColdStateContract(numBuckets = 4) {
  import NativeStateSuite._

  override def withCold(
      history: Seq[Map[String, Option[String]]]
  )(body: ColdState => Unit): Unit = TempFolder.use { folder =>
    use(folder.resolve("db")) { database =>
      val state = database.capture(writtenDown(history, database))
      write(database, Map("key-1" -> Some("later"), "key-2" -> None, "never 7" -> Some("later")))
      body(state)
      state.release()
    }
  }
}

/** A database that began with what another one left, which has gone on since. */
class LeftStateSuite extends ColdStateContract(numBuckets = 4) {
  import NativeStateSuite._

  override def withCold(
      history: Seq[Map[String, Option[String]]]
  )(body: ColdState => Unit): Unit = TempFolder.use { folder =>
    val states = new LocalStates(folder, 4, () => UUID.randomUUID())
    val left = use(folder.resolve("before")) { database =>
      val version = writtenDown(history, database)
      states.leave(database, version)
      write(database, Map("key-1" -> Some("later"), "key-2" -> None, "never 7" -> Some("later")))
      version
    }
    val place = Files.createDirectory(folder.resolve("db"))
    val taken =
      states.take((version, id) => version == left.attempt && left.commitId.contains(id), place).get
    assert(taken == left)
    Databases.withOptions(Databases.Plain) { options =>
      Using.resource(StateDatabase.open(place, options, taken.families.map(_.descriptor))) {
        database =>
          val state = database.capture(taken)
          body(state)
          state.release()
      }
    }
  }
}

/** A database that took over the runs of a manifest. */
abstract class TakenOverContract(appends: Boolean)
    extends ColdStateContract(numBuckets = 4, appends = appends) {
  import NativeStateSuite.use

  override def withCold(
      history: Seq[Map[String, Option[String]]]
  )(body: ColdState => Unit): Unit = TempFolder.use { folder =>
    SnapshotRoom.withHistory(folder, history) { (room, manifest) =>
      use(folder.resolve("db")) { database =>
        val ingestion = new RunIngestion(room.runs, _ => appends)
        val state = database.capture(ingestion.into(database, manifest, () => true).get)
        body(state)
        state.release()
      }
    }
  }
}

/** All of them as files. */
class IngestedStateSuite extends TakenOverContract(appends = false)

/** What newer ones append is read, and written. */
class ReplayedStateSuite extends TakenOverContract(appends = true)
