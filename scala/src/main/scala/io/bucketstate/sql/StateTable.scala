package io.bucketstate.sql

import java.util

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{
  MetadataColumn,
  SupportsMetadataColumns,
  SupportsRead,
  Table,
  TableCapability
}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The state of an operator at a batch, as a table to read. It stays at that batch. */
private[bucketstate] final class StateTable private (session: SparkSession, read: StateRead)
    extends Table
    with SupportsRead
    with SupportsMetadataColumns {

  override def name(): String = s"bucketstate ${read.root}"

  override def schema(): StructType = read.schema

  override def capabilities(): util.Set[TableCapability] = util.Set.of(TableCapability.BATCH_READ)

  override def metadataColumns(): Array[MetadataColumn] = Array(StateTable.BatchColumn)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new StateScanBuilder(session, read)
}

private[bucketstate] object StateTable {

  /** Throws `InvalidException` for what cannot be read as asked for. */
  def of(session: SparkSession, options: CaseInsensitiveStringMap): StateTable =
    new StateTable(session, StateReads.of(session, ReadOptions.of(options)))

  private object BatchColumn extends MetadataColumn {
    override def name(): String = StateColumn.Batch.name

    override def dataType(): DataType = StateColumn.Batch.dataType

    override def isNullable(): Boolean = false

    override def comment(): String = "the batch that made the state which is read"
  }
}
