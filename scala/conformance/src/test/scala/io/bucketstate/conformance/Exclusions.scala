package io.bucketstate.conformance

/**
 * Tests of Spark's that cannot pass because they are about another provider.
 *
 * @param suites simple names of the classes of this project that would run them, on whichever Spark
 * @param tests  their names on whichever Spark, to the letter, without what a suite adds to the name for each way it
 *               runs them
 * @param reason for people
 */
final case class Exclusion(suites: Seq[String], tests: Seq[String], reason: String)

object Exclusions {
  private val changesOfJoins = "read stream-stream join state change feed"
  private val distribution =
    "should require ClusteredDistribution from children if the query starts from checkpoint in"

  private val innerJoinsInFamilies =
    Seq("", "WithVcf", "V4").map(kind => s"BucketedInnerJoin${kind}Suite")

  val OnceInABatch: String =
    "Expects every write of a batch. A changelog of this provider has each key once, with its last " +
      "change in the batch, and so has the change feed."

  val all: Seq[Exclusion] = operators ++ TransformWithStateExclusions.all

  private def operators: Seq[Exclusion] = Seq(
    Exclusion(
      Seq("BucketedStateStoreSuite", "BucketedStateStoreRowChecksumSuite"),
      Seq("SPARK-18342: commit fails when rename fails"),
      "Asks for the class names of Spark's own stores in the error's message. The suite has the same " +
        "test with this provider's."
    ),
    Exclusion(
      Seq("BucketedStateStoreSuite", "BucketedStateStoreRowChecksumSuite"),
      Seq("SPARK-38320 - state store iterator behavior differences"),
      "Expects of every store but RocksDBStateStore that a scan shows what is written after it began. Here scans are of " +
        "the moment they began, as RocksDB's are. The suite has the same test with what it expects of RocksDB."
    ),
    Exclusion(
      Seq("BucketedStateStoreSuite"),
      Seq(
        "checksum files are also cleaned up during maintenance",
        "overwrite state file without overwriting checksum file"
      ),
      "Counts the files of Spark's own providers, and those with the checksums of each. This provider has the " +
        "checksums in the files."
    ),
    Exclusion(
      Seq("BucketedStateStoreSuite"),
      Seq("Load spark 4.0 golden checkpoint written without checksum"),
      oldCheckpoint
    ),
    Exclusion(
      Seq("BucketedStateDataSourceReadSuite", "BucketedStateDataSourceReadFormat2Suite"),
      Seq("snapshotStartBatchId on join state v4"),
      "Spark reads keys of this format, which is under development there, with a schema that has the event time twice, and " +
        "beyond the end of their bytes. This provider refuses a key that does not have the layout of its schema."
    ),
    Exclusion(
      innerJoinsInFamilies,
      Seq(
        "SPARK-51779 Restart streaming join query with virtual column families",
        "SPARK-51779 Restart the join query and changing state format versions should reuse the " +
          "version from offset log"
      ),
      "Counts column families and their keys by the names of RocksDBStateStoreProvider's metrics."
    ),
    Exclusion(
      innerJoinsInFamilies,
      Seq("SPARK-51779 Join query using virtual column families with HDFS should fail"),
      "Expects that the provider has no column families, as HDFSBackedStateStoreProvider."
    ),
    Exclusion(
      Seq("BucketedCoordinatorStreamingSuite"),
      Seq("RocksDB", "HDFS").map { name =>
        s"SPARK-51358: Infrequent maintenance with $name using Trigger.AvailableNow should be reported"
      },
      "Expects snapshots to lag when maintenance does not run. This provider makes them beside the " +
        "batches, not in maintenance."
    ),
    Exclusion(
      Seq("BucketedCoordinatorStreamingSuite"),
      Seq(
        "SPARK-51358: Restarting queries do not mark state stores as lagging for HDFS",
        "SPARK-51358: Restarting queries do not mark state stores as lagging for RocksDB",
        "SPARK-51358: Restarting queries with updated SQLConf get propagated to the coordinator"
      ),
      "Runs on providers made for the test from Spark's own."
    ),
    Exclusion(
      Seq(
        "BucketedStateDataSourceChangeDataSuite",
        "BucketedStateDataSourceChangeDataFormat2Suite"
      ),
      Seq(changesOfJoins),
      OnceInABatch
    ),
    Exclusion(
      "BucketedInnerJoinWithoutVcfSuite" +: innerJoinsInFamilies,
      Seq("SPARK-26187 restore the stream-stream inner join query from Spark 2.4"),
      oldCheckpoint
    ),
    Exclusion(
      Seq("", "WithoutVcf", "WithVcf", "V4").map(kind => s"BucketedOuterJoin${kind}Suite"),
      Seq("SPARK-26187 restore the stream-stream outer join query from Spark 2.4"),
      oldCheckpoint
    ),
    Exclusion(
      Seq("BucketedAggregationSuite", "BucketedAggregationRowChecksumSuite"),
      Seq("simple count, update mode - recovery from checkpoint uses state format version 1"),
      oldCheckpoint
    ),
    Exclusion(
      Seq("BucketedFlatMapGroupsWithStateSuite"),
      Seq("flatMapGroupsWithState - recovery from checkpoint uses state format version 1"),
      oldCheckpoint
    ),
    Exclusion(
      Seq("BucketedDeduplicationSuite"),
      Seq("3.3.0", "3.5.1").map { version =>
        "SPARK-39650: recovery from checkpoint having all columns as value schema with " +
          s"sparkVersion=$version"
      },
      oldCheckpoint
    ),
    Exclusion(
      Seq("BucketedEventTimeWatermarkSuite"),
      Seq("recovery from Spark ver 2.3.1 commit log without commit metadata (SPARK-24699)"),
      oldCheckpoint
    ),
    Exclusion(
      Seq("BucketedStreamSuite"),
      Seq("recover from a Spark v2.1 checkpoint"),
      oldCheckpoint
    ),
    Exclusion(
      Seq("BucketedStreamingQuerySuite"),
      Seq("SPARK-53942: stateful shuffle partitions are retained from old checkpoint"),
      oldCheckpoint
    ),
    Exclusion(
      Seq("BucketedStateFormatCompatibilitySuite"),
      Seq("common functions", "deduplicate with all columns", "statistical functions"),
      oldCheckpoint
    ),
    Exclusion(
      Seq("BucketedAggregationDistributionSuite"),
      Seq(s"SPARK-38204: streaming aggregation $distribution prior to 3.3"),
      oldCheckpoint
    ),
    Exclusion(
      Seq("BucketedDeduplicationDistributionSuite"),
      Seq(s"SPARK-38204: streaming deduplication $distribution prior to 3.3"),
      oldCheckpoint
    ),
    Exclusion(
      Seq("BucketedSessionWindowDistributionSuite"),
      Seq(s"SPARK-38204: session window aggregation $distribution 3.2"),
      oldCheckpoint
    ),
    Exclusion(
      Seq("BucketedFlatMapGroupsWithStateDistributionSuite"),
      Seq("3.2.x - with initial state", "3.2.x - without initial state", "prior to 3.2").map {
        version =>
          s"SPARK-38204: flatMapGroupsWithState $distribution $version"
      },
      oldCheckpoint
    )
  )

  private def oldCheckpoint: String =
    "Starts from a checkpoint that an older Spark wrote with HDFSBackedStateStoreProvider, and Spark " +
      "goes on with the provider that a checkpoint names."

  /** Names of the tests that a suite leaves out. */
  def of(suite: String): Set[String] = all.filter(_.suites.contains(suite)).flatMap(_.tests).toSet
}
