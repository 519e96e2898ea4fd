package io.bucketstate

import java.util

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.bucketstate.error.InvalidException
import io.bucketstate.spark.BuiltForSpark
import io.bucketstate.sql.StateTable

/**
 * The state of a query as a table: `spark.read.format("bucketstate").load(checkpoint)`, while the query runs or not. It needs
 * no settings: the checkpoint says all. It reads the newest batch that was committed when it was loaded, or the one that
 * option `batchId` names, and writes nothing. What cannot be read as asked for is an `IllegalArgumentException`, which
 * PySpark shows by its message.
 */
final class BucketstateSource extends TableProvider with DataSourceRegister {
  // Spark asks for the schema first, and both are to be of one batch.
  private[this] var made = Option.empty[(util.Map[String, String], StateTable)]

  override def shortName(): String = BucketstateSource.Format

  override def inferSchema(options: CaseInsensitiveStringMap): StructType = table(options).schema

  override def getTable(
      schema: StructType,
      partitioning: Array[Transform],
      properties: util.Map[String, String]
  ): Table = table(new CaseInsensitiveStringMap(properties))

  private def table(options: CaseInsensitiveStringMap): StateTable = synchronized {
    val asked = options.asCaseSensitiveMap
    made.collect { case (before, table) if before == asked => table }.getOrElse {
      BuiltForSpark.require(SPARK_VERSION)
      val table =
        try StateTable.of(SparkSession.active, options)
        catch { case e: InvalidException => throw new IllegalArgumentException(e.getMessage, e) }
      made = Some(asked -> table)
      table
    }
  }
}

object BucketstateSource {

  /** What it is called in `format(...)`, and in front of a path in SQL. */
  val Format = "bucketstate"
}
