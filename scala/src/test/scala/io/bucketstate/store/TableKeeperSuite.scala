package io.bucketstate.store

import java.util.UUID

import io.bucketstate.background.{Patience, Ticker}
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.recovery.Recovered
import io.bucketstate.history.{CommitPoint, StoreHistory, UnwrittenBytes}
import io.bucketstate.record.{BucketAssigner, BucketKey, FamilySpec, Scans}
import io.bucketstate.table.{StateTable, StateTables}
import io.bucketstate.testkit.{Changes, MapCold, MemoryFileStore, TextRecords, TidySuite}

/** Which snapshots become a table's cold part: those of the very versions that it was made of. */
class TableKeeperSuite extends TidySuite {
  private val assigner = new BucketAssigner(2)
  private val spec = FamilySpec(Changes.descriptor(0), BucketKey.Whole, Scans.Nothing)

  private final class Room {
    val history: StoreHistory =
      new StoreHistory(new MemoryFileStore, isFollowed = false, new UnwrittenBytes)
    val keeper: TableKeeper = new TableKeeper(
      (v, _) => Recovered(StateTables.heap(assigner, v, Seq(spec))),
      history,
      2,
      () => 0L,
      Patience(0L, Ticker.System, () => ()),
      _ => ()
    )

    /** Makes the version after this one: each adds a key. */
    def commit(version: Int, attempt: String = ""): StateTable = {
      val table = keeper.openForWrite(version.toLong, None).table
      table.families.head.put(TextRecords.key(s"k$version", assigner))
      keeper.committed(table, idOf(version + 1, attempt), None)
      table
    }

    def idOf(version: Int, attempt: String = ""): UUID =
      UUID.nameUUIDFromBytes(s"$version$attempt".getBytes)

    /** Announces a snapshot; whether the table took it. */
    def takes(
        version: Int,
        attempt: String = "",
        keys: Int = -1,
        isCounted: Boolean = true
    ): Boolean = {
      val size = if (keys < 0) version else keys
      val cold =
        new MapCold(
          version.toLong,
          (0 until size).map(n => s"k$n" -> "").toMap,
          assigner,
          isCounted = isCounted
        )
      keeper.advance(Attempt(version.toLong), Some(idOf(version, attempt)), cold)
      keeper.coldParts.contains(cold)
    }
  }

  test("a snapshot of a version that memory holds, or of one that it held not long ago") {
    val room = new Room
    (0 until 10).foreach(room.commit(_))
    assert(room.takes(3))
    assert(room.takes(10))
    assert(!room.takes(9), "there is a newer one")
    assert(!room.takes(11), "there is no such version")
  }

  test("not one of another attempt, nor one with another number of keys") {
    val room = new Room
    (0 until 4).foreach(room.commit(_))
    assert(!room.takes(2, attempt = "another"))
    assert(!room.takes(2, keys = 1))
    assert(room.takes(2))
    assert(room.takes(3, keys = 1, isCounted = false), "nobody says how many it has")
  }

  test("not one of a version that was rolled back since, nor of what came before a reload") {
    val room = new Room
    (0 until 4).foreach(room.commit(_))
    room.keeper.openForWrite(3, None)
    assert(!room.takes(4))
    room.commit(3, attempt = "again")
    assert(!room.takes(4))
    assert(room.takes(4, attempt = "again"))
    room.keeper.forget()
    room.keeper.openForWrite(4, None)
    assert(!room.takes(4, attempt = "again"))
  }

  test("what was announced of a version that is rolled back is forgotten") {
    val room = new Room
    (0 until 4).foreach(room.commit(_))
    assert(room.takes(4))
    val table = room.commit(3, attempt = "again")
    assert(table.coldParts.isEmpty && room.takes(4, attempt = "again"))
  }

  test("files of a table that was dropped stay as long as somebody holds it") {
    val room = new Room
    val table = (0 until 4).map(room.commit(_)).last
    assert(room.takes(4))
    room.keeper.forget()
    assert(room.keeper.coldParts == table.coldParts && table.coldParts.nonEmpty)
  }

  test("not one that holds another version than it is said to be of") {
    val room = new Room
    (0 until 4).foreach(room.commit(_))
    val cold = new MapCold(2L, (0 until 3).map(n => s"k$n" -> "").toMap, assigner)
    assert(!room.keeper.advance(Attempt(3L), Some(room.idOf(3)), cold))
    assert(!room.keeper.advance(CommitPoint(Attempt(3L), Some(room.idOf(3))), cold))
  }
}
