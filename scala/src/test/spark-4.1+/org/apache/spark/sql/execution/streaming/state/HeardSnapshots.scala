package org.apache.spark.sql.execution.streaming.state

import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkEnv
import org.apache.spark.rpc.{RpcCallContext, RpcEnv}
import org.apache.spark.sql.internal.SQLConf

/** What Spark's coordinator of stores, which is private to Spark, is told of snapshots. */
object HeardSnapshots {

  /** From now on, in a session that has had no query: the runs whose stores have told of a snapshot, as of each call. */
  def watch(): () => Set[UUID] = {
    val runs = ConcurrentHashMap.newKeySet[UUID]
    val env = SparkEnv.get.rpcEnv
    // Spark takes the one that is there under this name.
    env.setupEndpoint("StateStoreCoordinator", new Hearing(env, SQLConf.get, runs.add(_)))
    () => runs.asScala.toSet
  }

  private final class Hearing(env: RpcEnv, conf: SQLConf, hear: UUID => Boolean)
      extends StateStoreCoordinator(env, conf) {

    override def receiveAndReply(context: RpcCallContext): PartialFunction[Any, Unit] = {
      val answer = super.receiveAndReply(context)
      val listen: PartialFunction[Any, Unit] = { case told: ReportSnapshotUploaded =>
        hear(told.providerId.queryRunId)
        answer(told)
      }
      listen.orElse(answer)
    }
  }
}
