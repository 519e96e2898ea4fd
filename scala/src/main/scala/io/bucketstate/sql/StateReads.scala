package io.bucketstate.sql

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.execution.streaming.state.{SparkSessions, StateStoreConf}
import org.apache.spark.sql.internal.SQLConf

import io.bucketstate.error.InvalidException
import io.bucketstate.move.log.{QueryFolder, QueryLogs}
import io.bucketstate.move.read.{OwnRecords, Provider, SourceQuery}

/**
 * Finds in a checkpoint what options ask for. Nothing of the session's settings has to fit the checkpoint, and nothing is
 * written.
 */
private[sql] object StateReads {

  /** Throws `InvalidException` for what cannot be read as asked for. */
  def of(session: SparkSession, options: ReadOptions): StateRead = {
    val settings = new StateStoreConf(SparkSessions.settings(session))
    val folder = new QueryFolder(
      new Path(options.path),
      SparkSessions.hadoopConf(session),
      OwnRecords.configOf(settings).objectStores
    )
    try of(session, options, folder)
    finally folder.close()
  }

  private def of(session: SparkSession, options: ReadOptions, folder: QueryFolder): StateRead = {
    val logs = new QueryLogs(folder)
    val batch = batchOf(logs, options)
    requireOwn(logs, batch)
    if (logs.operators.isEmpty) {
      throw new InvalidException(
        s"${folder.location} holds no state: its folder 'state' is missing or empty",
        "Give the checkpointLocation of a query with a stateful operator."
      )
    }
    val id = operatorOf(logs, batch, options)
    val query = new SourceQuery(session, folder, batch, None, only = Some(id))
    val operator = query.operators.head
    val hidesMatched = query.settings.getConf(SQLConf.STREAMING_JOIN_STATE_FORMAT_VERSION) >= 2
    val found = new OperatorColumns(operator, hidesMatched).chosen(options)
    StateRead(
      folder.location,
      batch,
      options.batchId.isEmpty,
      found.store,
      found.family,
      if (operator.isGlobal) 1 else query.partitions,
      query.isStrict,
      query.storeConf,
      found.columns
    )
  }

  private def batchOf(logs: QueryLogs, options: ReadOptions): Long = {
    val location = logs.folder.location
    val committed = logs.finished
    val newest = committed.lastOption.getOrElse {
      throw new InvalidException(
        s"$location is not the checkpoint of a streaming query that has finished a batch: nothing is in its folder " +
          "'commits'",
        "Give the path that the query was started with as checkpointLocation, and let it finish a batch."
      )
    }
    options.batchId.foreach { batch =>
      if (!committed.contains(batch)) {
        throw new InvalidException(
          s"Option ${ReadOptions.BatchId} is $batch, and $location has no committed batch $batch",
          s"Those that are there are ${committed.head} to $newest; leave it out for the newest."
        )
      }
    }
    options.batchId.getOrElse(newest)
  }

  /** Said before anything else of the checkpoint is looked at, which may be of a kind that is not known here. */
  private def requireOwn(logs: QueryLogs, batch: Long): Unit = {
    val recorded = logs.offset(batch).settings.get(Provider.Setting)
    if (!recorded.contains(Provider.Ours.className)) {
      throw new InvalidException(
        s"${logs.folder.location} is not bucketstate's: the query keeps its state in " +
          recorded.getOrElse(Provider.Hdfs.className),
        "Read it with spark.read.format(\"statestore\"), or make a checkpoint of bucketstate's of it with bucketstate move " +
          "import."
      )
    }
  }

  private def operatorOf(logs: QueryLogs, batch: Long, options: ReadOptions): Long = {
    val location = logs.folder.location
    def listed = logs.operators.map(id => s"$id (${logs.operator(id, batch).name})").mkString(", ")
    options.operatorId match {
      case Some(id) =>
        logs.operators.find(_ == id).getOrElse {
          throw new InvalidException(
            s"Option ${ReadOptions.OperatorId} is $id, and $location has no such operator",
            s"Its stateful operators are $listed."
          )
        }
      case None if logs.operators.size == 1 => logs.operators.head
      case None                             =>
        throw new InvalidException(
          s"$location has several stateful operators: $listed",
          s"Give the number of one as option ${ReadOptions.OperatorId}."
        )
    }
  }
}
