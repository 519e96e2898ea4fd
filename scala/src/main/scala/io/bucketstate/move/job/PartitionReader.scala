package io.bucketstate.move.job

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression, Predicate, UnsafeRow}

import io.bucketstate.move.place.Placer
import io.bucketstate.move.read.{OwnKeys, OwnRecords, SourceFamily}
import io.bucketstate.move.write.Place.Moved
import io.bucketstate.move.write.{ExportMaker, RecordMaker}
import io.bucketstate.record.{FamilySpec, Record}
import io.bucketstate.spark.SparkSettings

/**
 * One partition of a source as places and values for the target, each key held against the partition that it was found in. To
 * be closed. Not thread-safe.
 *
 * @param done told of the sum of the partition, when all was taken
 */
private[move] abstract class PartitionReader(
    work: StoreWork,
    partition: Int,
    done: PartitionSum => Unit
) extends EndsOnce[Moved]
    with AutoCloseable {
  protected val kept: RowSum.Adding = new RowSum.Adding
  protected val deleted: RowSum.Adding = new RowSum.Adding
  private[this] var misplaced = 0L

  protected def moved: Iterator[Moved]

  override protected def hasMore: Boolean = moved.hasNext

  override protected def ended(): Unit = {
    done(PartitionSum(partition, kept.result, deleted.result, misplaced))
    close()
  }

  override def next(): Moved = moved.next()

  /** What is known of keys of a family. */
  protected final class Keys(family: SourceFamily) {
    private[this] val had = new Placer(family.deciding, family.keySchema, work.had)
    private[this] val goes = new Placer(family.deciding, family.keySchema, work.targets)
    private[this] val matching = work.deletes.map(KeyCondition.of(_, family))

    val hash: Long = RowSum.family(family.name)

    def check(key: UnsafeRow): Unit = if (had(key) != partition) misplaced += 1

    def isDeleted(key: UnsafeRow): Boolean = matching.exists(_(key))

    def target(key: UnsafeRow): Int = if (work.staysPut) partition else goes(key)
  }
}

/** A condition on grouping keys, bound to the columns of one family's keys. Not thread-safe. */
private[move] object KeyCondition {

  def of(condition: Expression, family: SourceFamily): UnsafeRow => Boolean = {
    val fields = family.deciding.grouping(family.keySchema).map(_._2)
    // From the leaves up: what is put in has references of its own, which are bound already.
    val bound = condition.transformUp { case b: BoundReference => fields(b.ordinal) }
    val holds = Predicate.create(bound, Nil)
    row => holds.eval(row)
  }
}

/** Reads rows, whoever has them; what goes on of a key is made of its values. */
private[move] abstract class RowReader(
    work: StoreWork,
    partition: Int,
    hadoop: Configuration,
    done: PartitionSum => Unit
) extends PartitionReader(work, partition, done) {
  private[this] val rows = work.rows(partition, hadoop)
  private[this] val parts = mutable.Map.empty[String, Keys]

  override protected val moved: Iterator[Moved] = rows.flatMap { row =>
    val keys = parts.getOrElseUpdate(row.family.name, new Keys(row.family))
    keys.check(row.key)
    val isDeleted = keys.isDeleted(row.key)
    val sum = if (isDeleted) deleted else kept
    sum.key(keys.hash, row.key)
    val values = row.values.map { value =>
      sum.value(value)
      value
    }
    if (!isDeleted) made(row.family, keys.target(row.key), row.key, values)
    else {
      values.foreach(_ => ())
      Iterator.empty
    }
  }

  /** @param values each good until the next one; all are taken before the next key */
  protected def made(
      family: SourceFamily,
      target: Int,
      key: UnsafeRow,
      values: Iterator[UnsafeRow]
  ): Iterator[Moved]

  override def close(): Unit = rows.close()
}

/** Makes records of this project of rows. */
private[move] final class ImportReader(
    work: StoreWork,
    partition: Int,
    hadoop: Configuration,
    done: PartitionSum => Unit
) extends RowReader(work, partition, hadoop, done) {
  private[this] val buffer = RecordMaker.buffer(work.numBuckets)
  private[this] val evolving =
    if (SparkSettings.evolves(work.targetConf)) work.store.schemas(new Path(work.from), hadoop)
    else None
  private[this] val makers = mutable.Map.empty[String, RecordMaker]

  override protected def made(
      family: SourceFamily,
      target: Int,
      key: UnsafeRow,
      values: Iterator[UnsafeRow]
  ): Iterator[Moved] = {
    val maker = makers.getOrElseUpdate(family.name, makerOf(family))
    val all = if (family.multiValued) values.map(_.copy()).toArray else values.toArray
    Iterator.single(maker(target, key, all))
  }

  private def makerOf(family: SourceFamily): RecordMaker =
    new RecordMaker(work.store, family, work.specOf(family.name), evolving, buffer)
}

/** Makes rows for a target of another provider. */
private[move] final class ExportReader(
    work: StoreWork,
    partition: Int,
    hadoop: Configuration,
    done: PartitionSum => Unit
) extends RowReader(work, partition, hadoop, done) {
  private[this] val numbers = work.store.families.map(_.name).zipWithIndex.toMap

  override protected def made(
      family: SourceFamily,
      target: Int,
      key: UnsafeRow,
      values: Iterator[UnsafeRow]
  ): Iterator[Moved] = values.zipWithIndex.map { case (value, index) =>
    ExportMaker(target, numbers(family.name), key, index, value)
  }
}

/** Reads records of this project, whose bytes go over as they are. */
private[move] final class RecordReader(
    work: StoreWork,
    partition: Int,
    hadoop: Configuration,
    done: PartitionSum => Unit
) extends PartitionReader(work, partition, done) {
  private[this] val records = new OwnRecords(
    work.store,
    new Path(work.from),
    partition,
    work.version,
    OwnRecords.configOf(work.sourceConf),
    hadoop
  )
  private[this] val buffer = RecordMaker.buffer(work.numBuckets)
  private[this] val numbers = work.families.map(f => f.descriptor.name -> f.descriptor.id).toMap
  private[this] val byName = work.store.families.map(f => f.name -> f).toMap

  override protected val moved: Iterator[Moved] = records.state.families.iterator.flatMap { spec =>
    byName.get(spec.name).iterator.flatMap(of(_, spec))
  }

  private def of(family: SourceFamily, spec: FamilySpec): Iterator[Moved] = {
    val keys = new Keys(family)
    val codec = new OwnKeys(family, spec)
    val number = numbers(family.name)
    records.state.of(spec).flatMap { record =>
      val key = codec.codec.decode(record, codec.space)
      keys.check(key)
      if (keys.isDeleted(key)) {
        deleted.record(keys.hash, record)
        None
      } else {
        kept.record(keys.hash, record)
        buffer.keyOf(record, 0, spec.bucketKey)
        val place = RecordMaker.place(keys.target(key), number, buffer)
        Some((place, java.util.Arrays.copyOfRange(record, Record.keyEnd(record), record.length)))
      }
    }
  }

  override def close(): Unit = records.close()
}
