package io.bucketstate.conformance

import org.apache.spark.sql.execution.datasources.v2.state.StateDataSourceReadSuite

/** Spark 4.0 leaves nothing to suites of providers that have column families: its joins use none. */
trait JoinSnapshots extends StateDataSourceReadSuite
