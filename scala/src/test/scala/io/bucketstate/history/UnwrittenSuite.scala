package io.bucketstate.history

import java.nio.file.Path

import scala.util.Using

import io.bucketstate.checkpoint.changelog.ChangelogReader
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.record.{BucketAssigner, ChangeSet, RecordOp}
import io.bucketstate.rocksdb.Databases
import io.bucketstate.rocksdb.state.StateDatabase
import io.bucketstate.testkit.{
  Changes,
  LargeAppends,
  MemoryFileStore,
  SnapshotRoom,
  TempFolder,
  TextRecords,
  TidySuite,
  Write
}

/** What a version changed comes into a database once, in however many parts it is written. */
class UnwrittenSuite extends TidySuite {
  private val assigner = new BucketAssigner(4)

  private def inDatabase(folder: Path)(body: StateDatabase => Unit): Unit =
    Databases.withOptions(Databases.Plain) { options =>
      Using.resource(StateDatabase.create(folder.resolve("db"), options))(body)
    }

  /** Two versions, whose changes are written down one after the other. */
  private def written(newest: (SnapshotRoom, MemoryFileStore) => Unwritten): Unit =
    TempFolder.use { folder =>
      val files = new MemoryFileStore
      Using.resource(new SnapshotRoom(files, folder)) { room =>
        room.commit(LargeAppends.before: _*)
        room.commit(LargeAppends.changes: _*)
        inDatabase(folder) { database =>
          val before = replayed(files, room, CommitPoint.Empty, 1L).writeTo(database)
          assert(before.version == 1)
          val holds = newest(room, files).writeTo(database)
          assert(holds.attempt == Attempt(2L) && holds.commitId == pointOf(files, 2L).commitId)
          val state = database.capture(holds)
          LargeAppends.requireSame(TextRecords.contentOf(state, 0, 4), room.model(2L))
          assert(state.keyCount(0).contains(room.keyCount(2L, 0)))
          state.release()
        }
      }
    }

  private def pointOf(files: MemoryFileStore, version: Long): CommitPoint = {
    val attempt = Attempt(version)
    CommitPoint(attempt, Some(ChangelogReader.readHeader(files, attempt).commitId))
  }

  private def replayed(
      files: MemoryFileStore,
      room: SnapshotRoom,
      base: CommitPoint,
      version: Long
  ): Unwritten = new Unwritten.Replayed(base, pointOf(files, version), room.newCheckpoint())

  /** The changes of a version as its table had them. */
  private def changesOf(files: MemoryFileStore, version: Long): ChangeSet =
    Using.resource(ChangelogReader.open(files, Attempt(version))) { log =>
      val writes = Changes.readAll(log).map { read =>
        val key = read.key.toArray
        Write(
          assigner.bucket(assigner.hash(key, 0, key.length)),
          read.key,
          Option.unless(read.op == RecordOp.Remove)(read.value),
          appended = read.op == RecordOp.Merge
        )
      }
      Changes.set(Seq(Changes.of(Changes.descriptor(0), 4, writes, log.families.head.keyCount)))
    }

  test("as its changelog has it") {
    written((room, files) => replayed(files, room, pointOf(files, 1L), 2L))
  }

  test("as its changelog has it, on top of another attempt that left out what is appended to") {
    TempFolder.use { folder =>
      val files = new MemoryFileStore
      Using.resource(new SnapshotRoom(files, folder)) { room =>
        room.commit("kept" -> Some("1"), "left out" -> Some("2"))
        room.commit("kept" -> Some("+, more"), "left out" -> Some("+all of it"))
        room.replace(1L, "kept" -> Some("late"))
        inDatabase(folder) { database =>
          val base = pointOf(files, 1L).copy(reading = 1L)
          new Unwritten.Replayed(CommitPoint.Empty, base, room.newCheckpoint()).writeTo(database)
          val newest = pointOf(files, 2L).copy(reading = 1L)
          val replay = new Unwritten.Replayed(base, newest, room.newCheckpoint())
          val state = database.capture(replay.writeTo(database))
          val found = TextRecords.contentOf(state, 0, 4)
          assert(found == Map("kept" -> "late, more", "left out" -> "all of it"))
          state.release()
        }
      }
    }
  }

  test("as its table has it") {
    written { (_, files) =>
      val point = pointOf(files, 2L)
      new Unwritten.Changes(changesOf(files, 2L), point.attempt, point.commitId.get, 1L)
    }
  }
}
