package io.bucketstate.conformance;

import io.bucketstate.BucketedStateStoreProvider;
import org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider;

/**
 * Carries a provider of this project through methods whose types ask for Spark's own. It is never
 * initialised itself, so any use of it fails. In Java, because Spark's class is private to Scala.
 */
final class StandIn extends RocksDBStateStoreProvider {
  private final BucketedStateStoreProvider provider;

  StandIn(BucketedStateStoreProvider provider) {
    this.provider = provider;
  }

  BucketedStateStoreProvider provider() {
    return provider;
  }
}
