package org.apache.spark.sql.execution.streaming.state

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkEnv
import org.apache.spark.io.CompressionCodec
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.optimizer.NormalizeFloatingNumbers
import org.apache.spark.sql.classic.{SparkSession => ClassicSession}
import org.apache.spark.sql.execution.streaming.checkpointing.OffsetSeqMetadata
import org.apache.spark.sql.internal.SQLConf

/** What a session has that is private to Spark, for work on the checkpoint of a query that does not run. */
object SparkSessions {

  /** A copy of the session's settings. */
  def settings(session: SparkSession): SQLConf = classic(session).sessionState.conf.clone()

  def hadoopConf(session: SparkSession): Configuration =
    classic(session).sessionState.newHadoopConf()

  /** Whether a query of that id runs in any session of the application. */
  def isRunning(session: SparkSession, query: UUID): Boolean =
    classic(session).sharedState.activeStreamingQueries.containsKey(query)

  /** Puts in what a query recorded when a batch was planned, as a restart would. */
  def setRecorded(recorded: Map[String, String], settings: SQLConf): Unit =
    OffsetSeqMetadata.setSessionConf(OffsetSeqMetadata(0L, 0L, recorded), settings)

  /** What files of Spark's providers are compressed with, on this machine. */
  def codec(name: String): CompressionCodec =
    CompressionCodec.createCodec(SparkEnv.get.conf, name)

  /** A key's column as aggregations make it: of zeros and of NaNs there is one. */
  def normalized(column: Expression): Expression = NormalizeFloatingNumbers.normalize(column)

  private def classic(session: SparkSession): ClassicSession =
    session.asInstanceOf[ClassicSession]
}
