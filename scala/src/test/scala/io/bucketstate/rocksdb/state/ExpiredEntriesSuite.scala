package io.bucketstate.rocksdb.state

import scala.collection.immutable.SortedMap

import io.bucketstate.checkpoint.changelog.ChangelogFamily
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.record.{BucketAssigner, RecordBuffer, RecordOp, TimeBuckets, TimedValue}
import io.bucketstate.testkit.{Changes, TempFolder, TextRecords, TidySuite}

/** What has expired leaves a database within some versions; what has not stays. */
class ExpiredEntriesSuite extends TidySuite {
  private val assigner = new BucketAssigner(64)

  private def record(key: String, start: Long): RecordBuffer = {
    val buffer = TextRecords.key(key, assigner)
    val space = buffer.valueSpace(TimedValue.Length)
    buffer.valueDone(TimedValue.put(space, buffer.keyEnd, start))
    buffer
  }

  /** A key for each start from the horizon on. */
  private def version(number: Long, horizon: Long, until: Long = 1000L): WrittenVersion = {
    val keys = (horizon until until).map(_ -> 1L).to(SortedMap)
    val times = TimeBuckets(until, horizon, TimedValue.Never, 0L, keys)
    WrittenVersion(
      Attempt(number),
      None,
      Seq(ChangelogFamily(Changes.descriptor(0), Some(keys.size.toLong), Some(times)))
    )
  }

  private def put(into: StateDatabase, keys: Iterable[RecordBuffer]): Unit = {
    into.hold(Seq(Changes.descriptor(0)))
    into.change { changes =>
      keys.foreach(key => changes(0, key.bucket, RecordOp.Put, key.toRecord))
    }
  }

  /** All that is there, expired or not: seen with a horizon before all. */
  private def stored(database: StateDatabase): Int = {
    val state = database.capture(version(0L, 0L))
    var found = 0
    (0 until 64).foreach(bucket => state.scan(0, bucket, (_, _) => found += 1))
    state.release()
    found
  }

  test("what has expired leaves a database some buckets at a time, once it is a good part") {
    TempFolder.use { folder =>
      NativeStateSuite.use(folder.resolve("db")) { database =>
        put(database, (0 until 1000).map(n => record(s"key $n", n.toLong)))
        val expired = new ExpiredEntries(64, database.remove(_, _)(_))
        expired.written(version(0L, 0L))
        expired.written(version(1L, 100L))
        (1 to 40).foreach(_ => expired.some())
        assert(stored(database) == 1000, "900 would be read for 100")
        expired.written(version(2L, 300L))
        expired.some()
        val soon = stored(database)
        assert(soon < 1000 && soon > 700)
        (2 to 32).foreach(_ => expired.some())
        assert(stored(database) == 700)
        expired.written(version(3L, 400L))
        (1 to 40).foreach(_ => expired.some())
        assert(stored(database) == 700)
        expired.written(version(4L, 1000L))
        (1 to 32).foreach(_ => expired.some())
        assert(stored(database) == 0)
      }
    }
  }

  test("few records are read for each that has expired, however often the horizon moves") {
    val live = 6400
    var there = (0L until live.toLong).toSet
    var looked = 0
    var removed = 0
    val expired = new ExpiredEntries(
      1,
      (_, _, isOver) => {
        looked += there.size
        val gone = there.filter(start => isOver(record(s"$start", start).toRecord))
        removed += gone.size
        there --= gone
      }
    )
    expired.written(version(0L, 0L, live.toLong))
    (1L to 128L).foreach { step =>
      val horizon = step * 100
      there ++= (live + horizon - 100L) until (live + horizon)
      expired.written(version(step, horizon, live + horizon))
      expired.some()
      assert(there.size <= live * 5 / 4 + 100)
    }
    assert(removed > live && looked <= removed * 6)
  }

  test("more than a batch holds is removed in parts, each entry looked at once") {
    TempFolder.use { folder =>
      NativeStateSuite.use(folder.resolve("db")) { database =>
        val one = new BucketAssigner(1)
        val names = (0 until 3000).map(n => s"$n " + "k" * 1000)
        put(
          database,
          names.map { name =>
            val key = TextRecords.key(name, one)
            key.valueDone(TimedValue.put(key.valueSpace(TimedValue.Length), key.keyEnd, 1L))
            key
          }
        )
        var looked = Vector.empty[String]
        database.remove(0, 0) { record =>
          looked :+= TextRecords.keyOf(record)
          !TextRecords.keyOf(record).startsWith("7 ")
        }
        assert(looked.size == names.size && looked.toSet == names.toSet)
        assert(stored(database) == 1)
      }
    }
  }
}
