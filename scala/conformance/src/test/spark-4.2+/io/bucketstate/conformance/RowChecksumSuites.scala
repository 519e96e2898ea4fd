package io.bucketstate.conformance

import org.apache.spark.sql.execution.datasources.v2.state.StateDataSourceTransformWithStateSuiteWithRowChecksum
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.streaming._

// Spark's own providers put a checksum into each row where a setting asks for it. This one has all its files
// under checksums always, and the setting must change nothing.

class BucketedStateStoreRowChecksumSuite
    extends BucketedStateStoreSuite
    with EnableStateStoreRowChecksum
class BucketedAggregationRowChecksumSuite
    extends StreamingAggregationSuite
    with OnBucketstate
    with EnableStateStoreRowChecksum
class BucketedFullOuterJoinV4RowChecksumSuite
    extends StreamingFullOuterJoinV4Suite
    with OnBucketstate
    with EnableStateStoreRowChecksum

// Spark's own of transformWithState.

class BucketedValueStateRowChecksumSuite
    extends ValueStateSuiteWithRowChecksum
    with VariablesOnBucketstate
class BucketedListStateRowChecksumSuite
    extends ListStateSuiteWithRowChecksum
    with VariablesOnBucketstate
class BucketedMapStateRowChecksumSuite
    extends MapStateSuiteWithRowChecksum
    with VariablesOnBucketstate
class BucketedTimerRowChecksumSuite extends TimerSuiteWithRowChecksum with VariablesOnBucketstate
class BucketedStatefulProcessorHandleRowChecksumSuite
    extends StatefulProcessorHandleSuiteWithRowChecksum
    with VariablesOnBucketstate
class BucketedTransformWithStateInitialStateRowChecksumSuite
    extends TransformWithStateInitialStateSuiteWithRowChecksum
    with OnBucketstate
class BucketedTransformWithStateChainingRowChecksumSuite
    extends TransformWithStateChainingSuiteWithRowChecksum
    with OnBucketstate
class BucketedTransformWithListStateRowChecksumSuite
    extends TransformWithListStateSuiteWithRowChecksum
    with OnBucketstate
class BucketedTransformWithMapStateRowChecksumSuite
    extends TransformWithMapStateSuiteWithRowChecksum
    with OnBucketstate
class BucketedStateDataSourceTransformWithStateRowChecksumSuite
    extends StateDataSourceTransformWithStateSuiteWithRowChecksum
    with OnBucketstate
