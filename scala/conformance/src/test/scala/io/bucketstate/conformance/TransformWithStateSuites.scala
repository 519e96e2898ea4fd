package io.bucketstate.conformance

import org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkStateServerSuite
import org.apache.spark.sql.streaming._

// transformWithState, query by query.

class BucketedTransformWithStateUnsafeRowSuite
    extends TransformWithStateUnsafeRowSuite
    with OnBucketstate
class BucketedTransformWithStateAvroSuite extends TransformWithStateAvroSuite with OnBucketstate
class BucketedTransformWithStateValidationSuite
    extends TransformWithStateValidationSuite
    with OnBucketstate
class BucketedTransformWithStateInitialStateSuite
    extends TransformWithStateInitialStateSuite
    with OnBucketstate
class BucketedTransformWithStateInitialStateFormat2Suite
    extends TransformWithStateInitialStateSuiteCheckpointV2
    with OnBucketstate
class BucketedTransformWithStateInitialStateRowChecksumSuite
    extends TransformWithStateInitialStateSuiteWithRowChecksum
    with OnBucketstate
class BucketedTransformWithStateChainingSuite
    extends TransformWithStateChainingSuite
    with OnBucketstate
class BucketedTransformWithStateChainingRowChecksumSuite
    extends TransformWithStateChainingSuiteWithRowChecksum
    with OnBucketstate
class BucketedTransformWithListStateSuite extends TransformWithListStateSuite with OnBucketstate
class BucketedTransformWithListStateRowChecksumSuite
    extends TransformWithListStateSuiteWithRowChecksum
    with OnBucketstate
class BucketedTransformWithMapStateSuite extends TransformWithMapStateSuite with OnBucketstate
class BucketedTransformWithMapStateRowChecksumSuite
    extends TransformWithMapStateSuiteWithRowChecksum
    with OnBucketstate
class BucketedTransformWithValueStateTtlSuite
    extends TransformWithValueStateTTLSuite
    with OnBucketstate
class BucketedTransformWithListStateTtlSuite
    extends TransformWithListStateTTLSuite
    with OnBucketstate
class BucketedTransformWithMapStateTtlSuite extends TransformWithMapStateTTLSuite with OnBucketstate

/** What a Python worker's calls do with state variables: mocks, so neither session nor provider. */
class BucketedTransformWithStateInPySparkStateServerSuite
    extends TransformWithStateInPySparkStateServerSuite
