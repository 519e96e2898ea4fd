package io.bucketstate.conformance

import java.io.File

import org.apache.spark.sql.execution.datasources.v2.state._
import org.apache.spark.sql.execution.streaming.runtime.MemoryStream
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.streaming.{OutputMode, TimeMode}
import org.apache.spark.{SparkConf, SparkException}

import io.bucketstate.BucketedStateStoreProvider
import io.bucketstate.config.ConfigKey

// Spark's state data source: its abstract suites made concrete for this provider.

/** Names the provider under test; a snapshot every other version, as the suites of Spark's own do. */
trait ReadsBucketstate extends OnBucketstate {
  override protected def sparkConf: SparkConf =
    super.sparkConf.set(SQLConf.STATE_STORE_MIN_DELTAS_FOR_SNAPSHOT.key, "2")

  protected def newStateStoreProvider(): StateStoreProvider = new BucketedStateStoreProvider
}

/** With the files of checkpoint format 2. */
trait ReadsFormat2 extends ReadsBucketstate {
  override protected def sparkConf: SparkConf =
    super.sparkConf.set(SQLConf.STATE_STORE_CHECKPOINT_FORMAT_VERSION.key, "2")
}

class BucketedStateDataSourceReadSuite
    extends StateDataSourceReadSuite
    with ReadsBucketstate
    with JoinSnapshots
class BucketedStateDataSourceReadFormat2Suite
    extends StateDataSourceReadSuite
    with ReadsFormat2
    with JoinSnapshots

class BucketedStateDataSourceChangeDataSuite
    extends StateDataSourceChangeDataReaderSuite
    with ReadsBucketstate
class BucketedStateDataSourceChangeDataFormat2Suite
    extends StateDataSourceChangeDataReaderSuite
    with ReadsFormat2
class BucketedStateDataSourceNegativeSuite
    extends StateDataSourceNegativeTestSuite
    with OnBucketstate
class BucketedStateDataSourceSqlConfigSuite extends StateDataSourceSQLConfigSuite with OnBucketstate
class BucketedStateDataSourceTransformWithStateSuite
    extends StateDataSourceTransformWithStateSuite
    with OnBucketstate {

  /** As Spark's test of the same option, which rewrites RocksDB's files. */
  test("snapshotStartBatchId replays the batches after it onto its snapshot") {
    import testImplicits._
    withTempDir { folder =>
      withSQLConf(
        SQLConf.SHUFFLE_PARTITIONS.key -> "2",
        ConfigKey.SnapshotMaxVersions.key -> "1",
        ConfigKey.SnapshotMode.key -> "sync"
      ) {
        val input = MemoryStream[(String, String)]
        val grouped = input
          .toDS()
          .groupByKey(_._1)
          .transformWithState(
            new SessionGroupsStatefulProcessor,
            TimeMode.None(),
            OutputMode.Update()
          )
        val batches = (1 to 3).flatMap { batch =>
          val rows = (1 to 4).map(session => (s"session$session", s"group$batch"))
          Seq(AddData(input, rows: _*), ProcessAllAvailable())
        }
        val start = StartStream(checkpointLocation = folder.getCanonicalPath)
        testStream(grouped, OutputMode.Update())(start +: batches :+ StopStream: _*)
      }
      def groups(options: (String, String)*) =
        spark.read
          .format("statestore")
          .option("stateVarName", "groupsList")
          .options(options.toMap)
          .load(folder.getCanonicalPath)
          .selectExpr("key.value AS session", "list_element.value AS group", "partition_id")
      def replayed(partition: Int) =
        groups("snapshotPartitionId" -> partition.toString, "snapshotStartBatchId" -> "0")

      for (partition <- 0 to 1) {
        val expected = groups().where($"partition_id" === partition).collect().toSeq
        assert(expected.nonEmpty)
        val files = new File(folder, s"state/0/$partition")
        // The snapshot of batch 0 is enough, with the changes of each batch after it.
        assert(new File(files, "1.changelog").delete())
        checkAnswer(replayed(partition), expected)
        assert(new File(files, "2.changelog").delete())
        checkAnswer(groups().where($"partition_id" === partition), expected)
        intercept[SparkException](replayed(partition).collect())
      }
    }
  }
}
