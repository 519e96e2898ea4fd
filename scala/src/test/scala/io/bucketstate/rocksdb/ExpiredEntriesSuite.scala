package io.bucketstate.rocksdb

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.changelog.ChangelogFamily
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.table.{RecordBuffer, RecordOp, TimeBuckets, TimedValue}
import io.bucketstate.testkit.{Changes, TempFolder, TextRecords}

/** What has expired leaves a database within some versions; what has not stays. */
class ExpiredEntriesSuite extends AnyFunSuite {
  private val assigner = new BucketAssigner(64)

  private def record(key: String, start: Long): RecordBuffer = {
    val buffer = TextRecords.key(key, assigner)
    val space = buffer.valueSpace(TimedValue.Length)
    buffer.valueDone(TimedValue.put(space, buffer.keyEnd, start))
    buffer
  }

  private def version(number: Long, horizon: Long): WrittenVersion = {
    val times = TimeBuckets(1000L, horizon, TimedValue.Never, 0L, SortedMap(horizon -> 1L))
    WrittenVersion(
      Attempt(number),
      None,
      Seq(ChangelogFamily(Changes.descriptor(0), Some(1L), Some(times)))
    )
  }

  /** All that is there, expired or not: seen with a horizon before all. */
  private def stored(database: StateDatabase): Int = {
    val state = database.capture(version(0L, 0L))
    var found = 0
    (0 until 64).foreach(bucket => state.scan(0, bucket, (_, _) => found += 1))
    state.release()
    found
  }

  test(
    "what has expired leaves a database a few buckets at a time, and no more is looked for then"
  ) {
    TempFolder.use { folder =>
      NativeStateSuite.use(folder.resolve("db")) { database =>
        database.hold(Seq(Changes.descriptor(0)))
        database.change { into =>
          (0 until 1000).foreach { n =>
            val buffer = record(s"key $n", n.toLong)
            into(0, buffer.bucket, RecordOp.Put, buffer.toRecord)
          }
        }
        val expired = new ExpiredEntries(database, 64)
        assert(stored(database) == 1000)
        expired.some(version(1L, 300L))
        val soon = stored(database)
        assert(soon < 1000 && soon > 700)
        (2 to 32).foreach(n => expired.some(version(n.toLong, 300L)))
        assert(stored(database) == 700)
        (33 to 64).foreach(n => expired.some(version(n.toLong, 500L)))
        assert(stored(database) == 500)
      }
    }
  }
}
