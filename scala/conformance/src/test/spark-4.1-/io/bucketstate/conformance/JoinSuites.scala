package io.bucketstate.conformance

import org.apache.spark.sql.streaming._

// Stream-stream joins: each test runs with state format 2, and with 3 where its name says "virtual column family".

class BucketedInnerJoinSuite extends StreamingInnerJoinSuite with OnBucketstate
class BucketedOuterJoinSuite extends StreamingOuterJoinSuite with OnBucketstate
class BucketedFullOuterJoinSuite extends StreamingFullOuterJoinSuite with OnBucketstate
class BucketedLeftSemiJoinSuite extends StreamingLeftSemiJoinSuite with OnBucketstate
