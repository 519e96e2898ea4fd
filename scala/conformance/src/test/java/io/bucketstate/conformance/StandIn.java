package io.bucketstate.conformance;

import io.bucketstate.BucketedStateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.TestStateSchemaProvider;

/**
 * Carries a provider of this project, and what it learns its schemas from, through methods whose types
 * ask for Spark's own. It is never initialised itself, so any use of it fails. In Java, because Spark's
 * class is private to Scala.
 */
final class StandIn extends RocksDBStateStoreProvider {
  private final BucketedStateStoreProvider provider;
  private final TestStateSchemaProvider schemas;

  StandIn(BucketedStateStoreProvider provider, TestStateSchemaProvider schemas) {
    this.provider = provider;
    this.schemas = schemas;
  }

  BucketedStateStoreProvider provider() {
    return provider;
  }

  TestStateSchemaProvider schemas() {
    return schemas;
  }
}
