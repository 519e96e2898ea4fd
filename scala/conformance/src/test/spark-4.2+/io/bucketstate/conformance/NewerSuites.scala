package io.bucketstate.conformance

import org.apache.spark.sql.execution.datasources.v2.state.StateDataSourceNoEmptyDirCreationSuite
import org.apache.spark.sql.execution.streaming.state._

// Suites that Spark 4.1 does not have.

class BucketedJoinStateManagerEventTimeInKeySuite
    extends SymmetricHashJoinStateManagerEventTimeInKeySuite
    with OnBucketstate
class BucketedJoinStateManagerEventTimeInValueSuite
    extends SymmetricHashJoinStateManagerEventTimeInValueSuite
    with OnBucketstate
class BucketedStateDataSourceNoEmptyDirSuite
    extends StateDataSourceNoEmptyDirCreationSuite
    with OnBucketstate
