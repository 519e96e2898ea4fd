package io.bucketstate.move.job

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.StructType

import io.bucketstate.error.InvalidException
import io.bucketstate.move.place.Placer
import io.bucketstate.move.read.{OwnFamily, OwnKeys, SourceFamily}
import io.bucketstate.move.upsert.{Nulls, Replacing, RowShape, UpsertRules}
import io.bucketstate.move.write.Place.Moved
import io.bucketstate.move.write.RecordMaker
import io.bucketstate.record.{FamilySpec, Record}

/**
 * One partition of the rows that somebody gives, as places and values for the target. For one thread.
 *
 * @param done told of the sum of the partition, when all was taken
 */
private[move] final class UpsertReader(
    work: StoreWork,
    shape: RowShape,
    rows: Iterator[InternalRow],
    partition: Int,
    hadoop: Configuration,
    done: PartitionSum => Unit
) extends EndsOnce[Moved] {
  private[this] val target = new UpsertTarget(work, shape)
  private[this] val family = target.family
  private[this] val valueSchema =
    UpsertRules.takingNulls(work.store.operatorName, family.valueSchema)
  private[this] val toKey = UnsafeProjection.create(shape.keys)
  private[this] val toValue = UnsafeProjection.create(shape.values)
  private[this] val places = new Placer(family.deciding, family.keySchema, work.targets)
  private[this] val hash = RowSum.family(family.name)
  private[this] val maker = target.maker(hadoop)
  private[this] val taken = new RowSum.Adding

  override protected def hasMore: Boolean = rows.hasNext

  override protected def ended(): Unit =
    done(PartitionSum(partition, taken.result, RowSum.Empty, 0L))

  override def next(): Moved = {
    val row = rows.next()
    val key = toKey(row)
    val value = toValue(row)
    shape.refused
      .collectFirst { case (condition, why) if condition.eval(row) == true => why }
      .orElse(missing(key, family.keySchema, "key"))
      .orElse(missing(value, valueSchema, "value"))
      .foreach { why =>
        throw new InvalidException(
          s"The rows that were given for ${work.name} have one whose key is ${target.shown(key)}: $why",
          "Correct that row. Nothing was published."
        )
      }
    val made = maker(places(key), key, Array(value))
    taken.record(hash, Record.of(Replacing.key(made._1), made._2))
    made
  }

  private def missing(row: UnsafeRow, schema: StructType, part: String): Option[String] =
    Nulls.in(row, schema).map(path => s"'$part.$path' is null, and the state takes no null there")
}

/** The family that rows go into, as the target has it. Not thread-safe. */
private[move] final class UpsertTarget(work: StoreWork, shape: RowShape) {
  val family: SourceFamily = work.store.families.find(_.name == shape.family).get

  private[this] val spec: FamilySpec = work.specOf(shape.family)

  def maker(hadoop: Configuration): RecordMaker = {
    val evolving =
      if (OwnFamily.evolves(spec)) work.store.schemas(new Path(work.from), hadoop) else None
    new RecordMaker(work.store, family, spec, evolving, RecordMaker.buffer(work.numBuckets))
  }

  def shown(key: UnsafeRow): String = key.toSeq(family.keySchema).mkString("(", ", ", ")")

  /** What to say of a key that rows have more than once. */
  def twice(place: Array[Byte]): InvalidException = {
    val keys = new OwnKeys(family, spec)
    val key = keys.codec.decode(Record.of(Replacing.key(place), Array.emptyByteArray), keys.space)
    new InvalidException(
      s"The rows that were given for ${work.name} have the key ${shown(key)} more than once",
      "Leave one row of each key. Nothing was published."
    )
  }
}

/**
 * Sorted records and rows of one partition of the target, of which each key is left once.
 *
 * @param done told of what was replaced, when all was taken
 */
private[move] final class UpsertMerge(
    work: StoreWork,
    shape: RowShape,
    records: Iterator[Moved],
    partition: Int,
    done: PartitionSum => Unit
) extends EndsOnce[Moved] {
  private[this] val target = new UpsertTarget(work, shape)
  private[this] val hash = RowSum.family(shape.family)
  private[this] val replaced = new RowSum.Adding

  private[this] val merged = new Replacing(
    records,
    (place, value) => replaced.record(hash, Record.of(Replacing.key(place), value)),
    place => target.twice(place)
  )

  override protected def hasMore: Boolean = merged.hasNext

  override protected def ended(): Unit =
    done(PartitionSum(partition, replaced.result, RowSum.Empty, 0L))

  override def next(): Moved = merged.next()
}
