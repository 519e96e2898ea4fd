package io.bucketstate.conformance

import org.apache.spark.SparkConf
import org.apache.spark.sql.execution.datasources.v2.state._
import org.apache.spark.sql.execution.streaming.state.StateStoreProvider
import org.apache.spark.sql.internal.SQLConf

import io.bucketstate.BucketedStateStoreProvider

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

class BucketedStateDataSourceReadSuite extends StateDataSourceReadSuite with ReadsBucketstate {
  test("snapshotStartBatchId on join state v3")(testSnapshotOnJoinStateV3())
  test("snapshotStartBatchId on join state v4")(testSnapshotOnJoinStateV4())
}

class BucketedStateDataSourceReadFormat2Suite extends StateDataSourceReadSuite with ReadsFormat2 {
  test("snapshotStartBatchId on join state v3")(testSnapshotOnJoinStateV3())
  test("snapshotStartBatchId on join state v4")(testSnapshotOnJoinStateV4())
}

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
class BucketedStateDataSourceNoEmptyDirSuite
    extends StateDataSourceNoEmptyDirCreationSuite
    with OnBucketstate
class BucketedStateDataSourceTransformWithStateSuite
    extends StateDataSourceTransformWithStateSuite
    with OnBucketstate
class BucketedStateDataSourceTransformWithStateCheckpointV2Suite
    extends StateDataSourceTransformWithStateSuiteCheckpointV2
    with OnBucketstate
class BucketedStateDataSourceTransformWithStateRowChecksumSuite
    extends StateDataSourceTransformWithStateSuiteWithRowChecksum
    with OnBucketstate
