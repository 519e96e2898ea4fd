package io.bucketstate.testkit

import scala.collection.mutable
import scala.util.Using

import io.bucketstate.checkpoint.changelog.ChangelogFamily
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.record.{ColdState, KeyRange, RecordBuffer, RecordOp, RecordSink}
import io.bucketstate.rocksdb.Databases
import io.bucketstate.rocksdb.state.{NativeState, StateDatabase, WrittenVersion}

/** One database of one family, which is brought from what it holds to what it should, whatever the version. */
final class NativeColds private (database: StateDatabase) {
  import NativeColds._

  private val held = mutable.HashMap.empty[String, RecordBuffer]

  /**
   * What holds just these records. What has expired stays in the database, as it does until a sweep comes by.
   *
   * @param family with the number of records
   */
  def at(version: Long, family: ChangelogFamily, records: Iterable[RecordBuffer]): WatchedCold = {
    val wanted = records.iterator.map(r => TextRecords.keyOf(r.toRecord) -> r).toMap
    database.hold(Seq(family.descriptor))
    database.change { into =>
      def put(op: Byte, record: RecordBuffer): Unit =
        into(family.descriptor.id, record.bucket, op, record.toRecord)
      held.filterInPlace { (key, record) =>
        val isExpired = family.times.exists(now => !now.shows(record.toRecord))
        val stays = wanted.contains(key) || isExpired
        if (!stays) put(RecordOp.Remove, record)
        stays
      }
      wanted.foreachEntry { (key, record) =>
        if (!held.get(key).exists(_.toRecord.sameElements(record.toRecord)))
          put(RecordOp.Put, record)
        held(key) = record
      }
    }
    new Watched(database.capture(WrittenVersion(Attempt(version), None, Seq(family))))
  }
}

object NativeColds {

  def use[A](body: NativeColds => A): A = TempFolder.use { folder =>
    Databases.withOptions(Databases.Plain) { options =>
      Using.resource(StateDatabase.create(folder.resolve("db"), options)) { database =>
        body(new NativeColds(database))
      }
    }
  }

  private final class Watched(state: NativeState) extends WatchedCold {
    override def version: Long = state.version
    override def keyCount(family: Int): Option[Long] = asked(_.keyCount(family))
    override def wholeBytes: Long = state.wholeBytes

    override def find(family: Int, key: RecordBuffer): Array[Byte] = asked(_.find(family, key))

    override def mayHold(family: Int, key: RecordBuffer): Boolean = asked(_.mayHold(family, key))

    override def scan(family: Int, bucket: Int, sink: RecordSink): Unit =
      asked(_.scan(family, bucket, sink))

    override def range(family: Int, bucket: Int, keys: KeyRange, most: Int)(
        sink: Array[Byte] => Unit
    ): Unit = asked(_.range(family, bucket, keys, most)(sink))

    override def release(): Unit = {
      super.release()
      state.release()
    }

    private def asked[A](ask: ColdState => A): A = {
      requireOpen()
      ask(state)
    }
  }
}
