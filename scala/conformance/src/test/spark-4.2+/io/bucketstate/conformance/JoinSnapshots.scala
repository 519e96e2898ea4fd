package io.bucketstate.conformance

import org.apache.spark.sql.execution.datasources.v2.state.StateDataSourceReadSuite

/** What Spark's suite leaves to those of providers that have column families. */
trait JoinSnapshots extends StateDataSourceReadSuite {
  test("snapshotStartBatchId on join state v3")(testSnapshotOnJoinStateV3())
  test("snapshotStartBatchId on join state v4")(testSnapshotOnJoinStateV4())
}
