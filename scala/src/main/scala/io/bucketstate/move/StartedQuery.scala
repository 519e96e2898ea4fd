package io.bucketstate.move

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.streaming.WriteToStream
import org.apache.spark.sql.execution.streaming.state.SparkSessions
import org.apache.spark.sql.internal.SQLConf

import io.bucketstate.move.log.{OffsetEntry, QueryFolder}
import io.bucketstate.move.read.Provider

/** A query that is about to start, for the rules that look at its checkpoint before Spark does. */
private[move] object StartedQuery {

  /** Whether queries of a session begin with this provider. */
  def isOf(session: SparkSession, provider: String): Boolean =
    session.conf.getOption(SQLConf.STATE_STORE_PROVIDER_CLASS.key).contains(provider)

  /** Whether a batch was planned with this project's provider, which a restart goes on with, whatever the session has. */
  def isOwn(entry: OffsetEntry): Boolean =
    entry.settings.get(Provider.Setting).contains(Provider.Ours.className)

  /** Hands out the folder of its checkpoint, which is closed afterwards. */
  def inFolder(session: SparkSession, write: WriteToStream)(body: QueryFolder => Unit): Unit = {
    val path = new Path(write.resolvedCheckpointLocation)
    val hadoop = SparkSessions.hadoopConf(session)
    val folder = new QueryFolder(path, hadoop, Publishing.objectStores(session))
    try body(folder)
    finally folder.close()
  }
}
