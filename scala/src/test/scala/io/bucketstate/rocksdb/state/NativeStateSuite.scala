package io.bucketstate.rocksdb.state

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.UUID

import scala.collection.immutable.SortedMap
import scala.util.Using

import io.bucketstate.checkpoint.changelog.ChangelogFamily
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.record.{BucketAssigner, ColdState, RecordOp, TimeBuckets, TimedValue}
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

  /** One change of a family, which is no removal. */
  def write(into: StateChanges, family: Int, op: Byte, key: String, value: String): Unit = {
    val record = TextRecords.record(key, value, assigner)
    into(family, record.bucket, op, record.toRecord)
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
  )(body: ColdState => Unit): Unit =
    resumed(writtenDown(history, _)) { database =>
      write(database, Map("key-1" -> Some("later"), "key-2" -> None, "never 7" -> Some("later")))
    } { (database, taken) =>
      val state = database.capture(taken)
      body(state)
      state.release()
    }

  /**
   * @param fill what is left of a database
   * @param goOn what is done to that afterwards
   * @param body is given the database that begins with what was left, and what it holds
   */
  private def resumed(fill: StateDatabase => WrittenVersion)(goOn: StateDatabase => Unit)(
      body: (StateDatabase, WrittenVersion) => Unit
  ): Unit = TempFolder.use { folder =>
    val states = new LocalStates(folder, 4, () => UUID.randomUUID())
    val left = use(folder.resolve("before")) { database =>
      val version = fill(database)
      states.leave(database, version)
      goOn(database)
      version
    }
    val place = Files.createDirectory(folder.resolve("db"))
    val taken =
      states.take((version, id) => version == left.attempt && left.commitId.contains(id), place).get
    assert(taken == left)
    Databases.withOptions(Databases.Plain) { options =>
      Using.resource(StateDatabase.open(place, options, taken.families.map(_.descriptor))) {
        database => body(database, taken)
      }
    }
  }

  private val lists = Changes.descriptor(2).copy(valueEncoding = FamilyEncodings.CompactRows)
  private val timed = Changes.descriptor(5).copy(valueEncoding = FamilyEncodings.TimedRow)

  /** A value with the start of its time bucket, which has to be of bytes that are letters by themselves. */
  private def at(start: Long, text: String): String = {
    val time = new Array[Byte](TimedValue.Length)
    val _ = TimedValue.put(time, 0, start)
    new String(time, UTF_8) + text
  }

  test("each of several families begins with what was left of it, lists and records with times") {
    // In an order of their own, as families have it that came and went.
    val version = WrittenVersion(
      Attempt(7L),
      Some(new UUID(1L, 7L)),
      Seq(
        ChangelogFamily(lists, Some(1L)),
        ChangelogFamily(Changes.descriptor(0), Some(2L)),
        ChangelogFamily(
          timed,
          Some(1L),
          Some(TimeBuckets(300L, 200L, TimedValue.Never, 0L, SortedMap(300L -> 1L)))
        )
      )
    )
    val numbers = version.families.map(_.descriptor.id)
    def contents(state: NativeState) = numbers.map(TextRecords.contentOf(state, _, 4))
    val before = Seq(
      Map("a" -> "123"),
      Map("a" -> "of default", "b" -> "2"),
      Map("c" -> at(300L, "of its time"))
    )
    resumed { database =>
      database.hold(version.families.map(_.descriptor))
      database.change { into =>
        write(into, 2, RecordOp.Put, "a", "1")
        Seq("2", "3").foreach(write(into, 2, RecordOp.Merge, "a", _))
        write(into, 0, RecordOp.Put, "a", "of default")
        write(into, 0, RecordOp.Put, "b", "2")
        write(into, 5, RecordOp.Put, "a", at(100L, "which has expired"))
        write(into, 5, RecordOp.Put, "c", at(300L, "of its time"))
      }
      version
    }(_.change(write(_, 2, RecordOp.Merge, "a", "later"))) { (database, taken) =>
      val state = database.capture(taken)
      assert(contents(state) == before)
      assert(numbers.map(state.keyCount(_)) == version.families.map(_.keyCount))
      database.change { into =>
        write(into, 2, RecordOp.Merge, "a", "4")
        write(into, 5, RecordOp.Put, "d", at(300L, "too"))
      }
      assert(contents(state) == before)
      val next = database.capture(taken)
      assert(
        contents(next) == Seq(
          Map("a" -> "1234"),
          before(1),
          before(2) + ("d" -> at(300L, "too"))
        )
      )
      state.release()
      next.release()
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
