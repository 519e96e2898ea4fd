package io.bucketstate.conformance

import org.apache.spark.sql.streaming._

// Stream-stream joins: "without VCF" runs state formats 1 and 2, "with VCF" 3, "V4" 4.

class BucketedInnerJoinWithoutVcfSuite extends StreamingInnerJoinWithoutVCFSuite with OnBucketstate
class BucketedInnerJoinWithVcfSuite extends StreamingInnerJoinWithVCFSuite with OnBucketstate
class BucketedInnerJoinV4Suite extends StreamingInnerJoinV4Suite with OnBucketstate

class BucketedOuterJoinWithoutVcfSuite extends StreamingOuterJoinWithoutVCFSuite with OnBucketstate
class BucketedOuterJoinWithVcfSuite extends StreamingOuterJoinWithVCFSuite with OnBucketstate
class BucketedOuterJoinV4Suite extends StreamingOuterJoinV4Suite with OnBucketstate

class BucketedFullOuterJoinWithoutVcfSuite
    extends StreamingFullOuterJoinWithoutVCFSuite
    with OnBucketstate
class BucketedFullOuterJoinWithVcfSuite
    extends StreamingFullOuterJoinWithVCFSuite
    with OnBucketstate
class BucketedFullOuterJoinV4Suite extends StreamingFullOuterJoinV4Suite with OnBucketstate

class BucketedLeftSemiJoinWithoutVcfSuite
    extends StreamingLeftSemiJoinWithoutVCFSuite
    with OnBucketstate
class BucketedLeftSemiJoinWithVcfSuite extends StreamingLeftSemiJoinWithVCFSuite with OnBucketstate
class BucketedLeftSemiJoinV4Suite extends StreamingLeftSemiJoinV4Suite with OnBucketstate
