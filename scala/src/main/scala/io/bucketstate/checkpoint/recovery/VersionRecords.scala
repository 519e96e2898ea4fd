package io.bucketstate.checkpoint.recovery

import java.util.LinkedHashMap

import scala.jdk.CollectionConverters._

import io.bucketstate.checkpoint.io.Damage
import io.bucketstate.checkpoint.records.RecordCursor
import io.bucketstate.error.CorruptException
import io.bucketstate.record.{
  BucketAssigner,
  FamilySpec,
  Record,
  RecordBuffer,
  RecordOp,
  TimeBuckets
}
import io.bucketstate.table.cold.BucketLoader

/**
 * The whole state at a version as its files have it, for whoever takes all of it once and keeps nothing: one bucket is in
 * memory at a time. Not thread-safe.
 *
 * @param recovered a version that was just brought back, and of which nothing was loaded yet
 * @param assigner  that places its keys
 */
final class VersionRecords(recovered: Recovered, assigner: BucketAssigner) {
  import VersionRecords._

  private[this] val placed = new RecordBuffer(assigner)

  private[this] val loader: BucketLoader = recovered.loader

  val families: Seq[FamilySpec] = recovered.table.families.map(_.spec)

  val nextFamily: Int = recovered.table.nextFamily

  /** Keys of a family, None if nobody has counted them. */
  def keyCount(family: FamilySpec): Option[Long] = loader.keyCount(family.id)

  /** The time buckets of a family, where its records have times. */
  def times(family: FamilySpec): Option[TimeBuckets] = loader.times(family.id)

  /** All records of a family, each key once. Throws `CorruptException` at the end where files say that there are others. */
  def of(family: FamilySpec): Iterator[Array[Byte]] =
    // Of a state without keys nothing is kept to be read.
    if (loader.isEmpty(family.id)) Iterator.empty
    else {
      var count = 0L
      val shown = isShown(family)
      val records =
        Iterator.range(0, assigner.numBuckets).flatMap(bucketOf(family, _).filter(shown))
      val counted = records.map { record =>
        count += 1
        record
      }
      counted ++ atTheEnd(loader.verify(family.id, count))
    }

  /** All records of a family that lie in one bucket. A bucket may be asked for once. */
  def of(family: FamilySpec, bucket: Int): Iterator[Array[Byte]] =
    if (loader.isEmpty(family.id)) Iterator.empty
    else bucketOf(family, bucket).filter(isShown(family))

  /** The record of a key in [[newBuffer]], if it is there. Not for a key of a bucket that was asked for. */
  def find(family: FamilySpec, key: RecordBuffer): Option[Array[Byte]] =
    if (loader.isEmpty(family.id)) None
    else Option(loader.find(family.id, key)).filter(isShown(family))

  /** The bucket of all keys that start so, or -1 if they lie in several. */
  def bucketOfPrefix(family: FamilySpec, prefix: Array[Byte]): Int =
    family.bucketKey.ofPrefix(prefix, assigner)

  /** Scratch space for keys that are to be found. */
  def newBuffer: RecordBuffer = new RecordBuffer(assigner)

  private def isShown(family: FamilySpec): Array[Byte] => Boolean =
    loader.times(family.id).fold[Array[Byte] => Boolean](_ => true)(times => times.shows(_))

  private def atTheEnd(body: => Unit): Iterator[Array[Byte]] = {
    lazy val done: Iterator[Array[Byte]] = {
      body
      Iterator.empty
    }
    Iterator.single(()).flatMap(_ => done)
  }

  private def bucketOf(family: FamilySpec, bucket: Int): Iterator[Array[Byte]] = {
    val records = new LinkedHashMap[Key, Array[Byte]]
    def take(record: Array[Byte], op: Byte): Unit = {
      placed.keyOf(record, 0, family.bucketKey)
      if (placed.bucket != bucket) {
        throw new CorruptException(
          "A data file of the state",
          s"expected a key of bucket $bucket of column family '${family.name}', found one of ${placed.bucket}",
          Damage.Remedy
        )
      }
      val key = new Key(record, placed.hash)
      op match {
        case RecordOp.Remove => records.remove(key)
        case RecordOp.Merge  =>
          val before = records.get(key)
          records.put(key, if (before == null) record else Record.append(before, record))
        case _ => records.put(key, record)
      }
      ()
    }
    loader.cold.foreach(_.scan(family.id, bucket, take(_, _)))
    loader.changes(family.id, bucket, take(_, _))
    records.values.iterator.asScala
  }
}

private object VersionRecords {

  /** The key of a record, to be looked up by. */
  private final class Key(private val record: Array[Byte], override val hashCode: Int) {
    override def equals(other: Any): Boolean = other match {
      case that: Key => RecordCursor.hasKeyOf(record, that.record)
      case _         => false
    }
  }
}
