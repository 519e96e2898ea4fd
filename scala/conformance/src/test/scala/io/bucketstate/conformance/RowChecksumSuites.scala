package io.bucketstate.conformance

import org.apache.spark.sql.execution.streaming.state.EnableStateStoreRowChecksum
import org.apache.spark.sql.streaming._

// Spark's own providers put a checksum into each row where a setting asks for it. This one has all its files
// under checksums always, and the setting must change nothing. (Spark has such suites of transformWithState.)

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
