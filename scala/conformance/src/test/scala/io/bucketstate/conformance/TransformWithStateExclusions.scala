package io.bucketstate.conformance

/** The tests of transformWithState that are left out, see [[Exclusions]]. */
private object TransformWithStateExclusions {

  private val readers =
    Seq("", "CheckpointV2", "RowChecksum").map(kind =>
      s"BucketedStateDataSourceTransformWithState${kind}Suite"
    )

  val all: Seq[Exclusion] = Seq(
    Exclusion(
      Seq("BucketedTransformWithStateValidationSuite"),
      Seq("transformWithState", "transformWithStateWithInitialState").map { operator =>
        s"$operator - streaming with hdfsStateStoreProvider should fail"
      },
      "Expects that the session's provider is HDFSBackedStateStoreProvider, which Spark refuses. The suite " +
        "has a test of that refusal with the extension in the session."
    ),
    Exclusion(
      Seq("BucketedTransformWithStateInPySparkStateServerSuite"),
      Seq(
        "value state update",
        "list state append value",
        "map state get",
        "map state contains key",
        "map state update value",
        "remove key"
      ),
      "Does not link: the published tests name protobuf's classes, the published Spark has them under " +
        "another package. (The suite has mocks for state variables, and no state store.)"
    ),
    Exclusion(
      Seq("BucketedTransformWithStateAvroSuite"),
      Seq("test that introducing TTL after restart fails query"),
      "Stops a query in the middle of a batch, and expects the error of the restarted one, which may come before the test " +
        "waits for it: then the test fails, with Spark's own provider, too. The form with UnsafeRow is run."
    ),
    Exclusion(
      readers,
      Seq("state data source cdf integration - list state"),
      "Expects 'append' for the first value of a list. This provider has appending to nothing as a put, and " +
        "its change feed says 'update'; what is appended in the same batch, and later, is 'append'."
    ),
    Exclusion(
      readers,
      Seq("state data source cdf integration - list state and TTL"),
      Exclusions.OnceInABatch
    ),
    Exclusion(
      readers,
      Seq("snapshotStartBatchId with transformWithState"),
      "Waits for the zip files of RocksDBStateStoreProvider, and rewrites its changelogs. " +
        "StateDataSourceTransformWithStateSuite has a test of this option on this provider's files."
    )
  )
}
