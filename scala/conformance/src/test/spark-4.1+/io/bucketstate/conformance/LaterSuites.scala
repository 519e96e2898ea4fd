package io.bucketstate.conformance

import org.apache.spark.sql.execution.datasources.v2.state.StateDataSourceTransformWithStateSuiteCheckpointV2
import org.apache.spark.sql.execution.streaming._
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming._

// Suites that Spark 4.0 does not have.

class BucketedWatermarkInSelectSuite
    extends EventTimeWatermarkWithWatermarkDefInSelectSuite
    with OnBucketstate
class BucketedCoordinatorStreamingSuite
    extends StateStoreCoordinatorStreamingSuite
    with OnBucketstate
class BucketedTransformWithStateInitialStateCheckpointV2Suite
    extends TransformWithStateInitialStateSuiteCheckpointV2
    with OnBucketstate
class BucketedStateDataSourceTransformWithStateCheckpointV2Suite
    extends StateDataSourceTransformWithStateSuiteCheckpointV2
    with OnBucketstate
