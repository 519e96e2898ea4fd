package io.bucketstate.conformance

import org.apache.spark.sql.execution.streaming._
import org.apache.spark.sql.execution.streaming.state._

// What Spark's operators keep their state with, below the queries.

class BucketedAggregationStateManagerSuite
    extends StreamingAggregationStateManagerSuite
    with OnBucketstate
class BucketedSessionWindowStateManagerSuite
    extends StreamingSessionWindowStateManagerSuite
    with OnBucketstate
class BucketedMergingSessionWindowSuite
    extends MergingSortWithSessionWindowStateIteratorSuite
    with OnBucketstate
class BucketedFlatMapGroupsWithStateExecHelperSuite
    extends FlatMapGroupsWithStateExecHelperSuite
    with OnBucketstate
class BucketedJoinStateManagerSuite extends SymmetricHashJoinStateManagerSuite with OnBucketstate
class BucketedOperatorStateMetadataSuite extends OperatorStateMetadataSuite with OnBucketstate
