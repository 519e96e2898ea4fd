package io.bucketstate.sql

import scala.annotation.tailrec

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.util.SerializableConfiguration

import io.bucketstate.error.MissingException
import io.bucketstate.move.read.{OwnFamily, OwnRecords, StateRow}

/** Goes to executors. */
private[sql] final class StateReaderFactory(
    read: StateRead,
    wanted: Seq[StateColumn],
    hadoop: Broadcast[SerializableConfiguration]
) extends PartitionReaderFactory {

  override def createReader(partition: InputPartition): PartitionReader[InternalRow] =
    partition match {
      case lookup: PartitionLookup =>
        new StatePartitionReader(read, wanted, lookup, hadoop.value.value)
      case other => throw new IllegalArgumentException(s"$other is no partition of a state")
    }
}

/** Reads of one partition what was asked for. A row is good until the next one. For one thread. */
private[sql] final class StatePartitionReader(
    read: StateRead,
    wanted: Seq[StateColumn],
    lookup: PartitionLookup,
    hadoop: Configuration
) extends PartitionReader[InternalRow] {
  import StatePartitionReader._

  private[this] val records = told(opened(Attempts))
  private[this] val rows: Iterator[StateRow] =
    try told(rowsOf(lookup.look))
    catch {
      case failure: Throwable =>
        records.close()
        throw failure
    }

  private[this] val line = new GenericInternalRow(wanted.size)
  private[this] val ofKey = parts { case From.Key(cut) => cut.of(read.family.keySchema) }
  private[this] val ofValue = parts { case From.Value(cut) => cut.of(read.family.valueSchema) }
  wanted.zipWithIndex.foreach { case (column, i) =>
    column.from match {
      case From.Partition => line.update(i, lookup.partition)
      case From.Batch     => line.update(i, read.batch)
      case _              => ()
    }
  }

  private[this] var key: UnsafeRow = _
  private[this] var values: Iterator[UnsafeRow] = Iterator.empty

  override def next(): Boolean = told(advance())

  @tailrec
  private def advance(): Boolean =
    if (values.hasNext) {
      val value = values.next()
      ofKey.foreach { case (i, part) => line.update(i, part(key)) }
      ofValue.foreach { case (i, part) => line.update(i, part(value)) }
      true
    } else if (rows.hasNext) {
      val row = rows.next()
      key = row.key
      values = row.values
      advance()
    } else false

  override def get(): InternalRow = line

  override def close(): Unit = records.close()

  private def parts(
      valueOf: PartialFunction[From, UnsafeRow => Any]
  ): Array[(Int, UnsafeRow => Any)] =
    wanted.zipWithIndex.flatMap { case (column, i) =>
      valueOf.lift(column.from).map(i -> _)
    }.toArray

  /**
   * What leads to a version may be replaced, by something that leads there as well, between one look at the folder and the
   * next.
   */
  @tailrec
  private def opened(attempts: Int): OwnRecords = {
    val found =
      try Some(open())
      catch { case _: MissingException if attempts > 1 => None }
    found match {
      case Some(one) => one
      case None      => opened(attempts - 1)
    }
  }

  private def open() = new OwnRecords(
    read.store,
    new Path(read.root),
    lookup.partition,
    read.version,
    OwnRecords.configOf(read.conf),
    hadoop
  )

  private def rowsOf(look: Look): Iterator[StateRow] =
    records.state.families.find(_.name == read.family.name).iterator.flatMap { spec =>
      val keysAlone = !wanted.exists(_.from.isInstanceOf[From.Value])
      val evolving = read.store.schemas(new Path(read.root), hadoop)
      val family =
        new OwnFamily(read.store, read.family, spec, records.state, evolving, keysAlone)
      look match {
        case Look.Everything       => family.all
        case Look.Keys(all)        => all.iterator.flatMap(family.of(_))
        case Look.Beginnings(some) =>
          val buckets = some.map(family.bucketOf(_)).distinct
          if (buckets.contains(-1)) family.all else family.inBuckets(buckets.iterator)
      }
    }

  /** Says of what is gone which version it was of. */
  private def told[A](body: => A): A =
    try body
    catch {
      case gone: MissingException =>
        throw new MissingException(
          gone.file,
          s"it is needed for ${read.name}, partition ${lookup.partition}: the query has gone on, and removed what newer " +
            "versions do not need",
          if (read.isNewest)
            "Load the state again, which takes the newest batch; what is loaded stays at the batch that was the newest then."
          else
            s"Give another ${ReadOptions.BatchId}; more of them are kept with spark.sql.streaming.minBatchesToRetain, and " +
              "one that bucketstate savepoint create has held is read in what bucketstate fork makes of it.",
          gone
        )
    }
}

private object StatePartitionReader {

  /** How often the files that lead to a version are looked for. */
  final val Attempts = 3
}
