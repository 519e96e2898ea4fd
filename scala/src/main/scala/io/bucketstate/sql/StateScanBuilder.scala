package io.bucketstate.sql

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{
  Scan,
  ScanBuilder,
  SupportsPushDownRequiredColumns,
  SupportsPushDownV2Filters
}
import org.apache.spark.sql.types.StructType

/** Takes from Spark which columns and keys a query needs. For one thread. */
private[sql] final class StateScanBuilder(session: SparkSession, read: StateRead)
    extends ScanBuilder
    with SupportsPushDownV2Filters
    with SupportsPushDownRequiredColumns {
  private[this] var wanted = read.columns
  private[this] var pins = Seq.empty[KeyPin]

  /** All are held against the rows by Spark, too: what is read may be more than they leave. */
  override def pushPredicates(filters: Array[Predicate]): Array[Predicate] = {
    pins = filters.toSeq.flatMap(KeyPin.of(_, read))
    filters
  }

  override def pushedPredicates(): Array[Predicate] = pins.map(_.filter).toArray

  /** Whole columns: a row is decoded or not. */
  override def pruneColumns(required: StructType): Unit =
    wanted = required.fieldNames.toSeq.map(read.byName)

  override def build(): Scan = new StateScan(session, read, wanted, pins)
}
