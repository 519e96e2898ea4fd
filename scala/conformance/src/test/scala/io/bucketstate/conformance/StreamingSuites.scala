package io.bucketstate.conformance

import org.apache.spark.sql.streaming._

// Spark's streaming suites, operator by operator.

class BucketedAggregationSuite extends StreamingAggregationSuite with OnBucketstate
class BucketedDeduplicationSuite extends StreamingDeduplicationSuite with OnBucketstate
class BucketedDeduplicationWithinWatermarkSuite
    extends StreamingDeduplicationWithinWatermarkSuite
    with OnBucketstate
class BucketedSessionWindowSuite extends StreamingSessionWindowSuite with OnBucketstate
class BucketedFlatMapGroupsWithStateSuite extends FlatMapGroupsWithStateSuite with OnBucketstate
class BucketedFlatMapGroupsWithStateWithInitialStateSuite
    extends FlatMapGroupsWithStateWithInitialStateSuite
    with OnBucketstate
class BucketedMultiStatefulOperatorsSuite extends MultiStatefulOperatorsSuite with OnBucketstate
class BucketedEventTimeWatermarkSuite extends EventTimeWatermarkSuite with OnBucketstate
class BucketedStreamSuite extends StreamSuite with OnBucketstate
class BucketedStreamingQuerySuite extends StreamingQuerySuite with OnBucketstate
class BucketedStateFormatCompatibilitySuite
    extends StreamingStateStoreFormatCompatibilitySuite
    with OnBucketstate
class BucketedAggregationDistributionSuite
    extends StreamingAggregationDistributionSuite
    with OnBucketstate
class BucketedDeduplicationDistributionSuite
    extends StreamingDeduplicationDistributionSuite
    with OnBucketstate
class BucketedSessionWindowDistributionSuite
    extends StreamingSessionWindowDistributionSuite
    with OnBucketstate
class BucketedFlatMapGroupsWithStateDistributionSuite
    extends FlatMapGroupsWithStateDistributionSuite
    with OnBucketstate
class BucketedQueryOptimizationCorrectnessSuite
    extends StreamingQueryOptimizationCorrectnessSuite
    with OnBucketstate
class BucketedTriggerAvailableNowSuite extends TriggerAvailableNowSuite with OnBucketstate
