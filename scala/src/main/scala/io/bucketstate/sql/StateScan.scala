package io.bucketstate.sql

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory, Scan}
import org.apache.spark.sql.execution.streaming.state.SparkSessions
import org.apache.spark.sql.types.StructType
import org.apache.spark.util.SerializableConfiguration

/**
 * A task for each partition that may have keys which are asked for.
 *
 * @param wanted columns, in their order
 */
private[sql] final class StateScan(
    session: SparkSession,
    read: StateRead,
    wanted: Seq[StateColumn],
    pins: Seq[KeyPin]
) extends Scan
    with Batch {
  private[this] lazy val lookups = new KeyLookup(read, pins).partitions

  override def readSchema(): StructType = StructType(wanted.map(_.field))

  override def toBatch(): Batch = this

  override def planInputPartitions(): Array[InputPartition] = lookups.toArray

  override def createReaderFactory(): PartitionReaderFactory = {
    val hadoop = new SerializableConfiguration(SparkSessions.hadoopConf(session))
    new StateReaderFactory(read, wanted, session.sparkContext.broadcast(hadoop))
  }

  /** What `explain` shows. */
  override def description(): String = {
    val pushed =
      if (pins.isEmpty) "" else s", pushed down: ${pins.map(_.filter.toString).mkString(" AND ")}"
    s"${read.name}, reads $what of ${lookups.size} of ${read.partitions} partitions$pushed"
  }

  private def what: String = {
    val looks = lookups.map(_.look)
    val keys = looks.collect { case Look.Keys(rows) => rows.size }.sum
    val beginnings = looks.collect { case Look.Beginnings(rows) => rows.size }.sum
    def some(n: Int, what: String) = if (n == 1) s"1 $what" else s"$n ${what}s"
    if (keys > 0) some(keys, "key")
    else if (beginnings > 0) s"the buckets of ${some(beginnings, "beginning")} of keys"
    else "all keys"
  }
}
