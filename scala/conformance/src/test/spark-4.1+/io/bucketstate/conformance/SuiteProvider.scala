package io.bucketstate.conformance

import io.bucketstate.BucketedStateStoreProvider

/** The provider that Spark's suite of providers tries. */
object SuiteProvider {
  type Tried = BucketedStateStoreProvider

  def make(): Tried = new BucketedStateStoreProvider
}
