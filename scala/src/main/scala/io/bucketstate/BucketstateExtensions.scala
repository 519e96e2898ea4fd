package io.bucketstate

import org.apache.spark.sql.SparkSessionExtensions

import io.bucketstate.move.{KeyOrderOnStart, RewriteOnStart}
import io.bucketstate.spark.BuiltForSparkRule
import io.bucketstate.spark.many.ManyKeysRule
import io.bucketstate.spark.plan.{RepartitionRule, TransformWithStateRule}
import io.bucketstate.sql.PathRule

/**
 * The session extension that lets `transformWithState` and its Python forms keep their state in
 * [[BucketedStateStoreProvider]], and runs the Python package's stateful functions over many keys at once: named in
 * `spark.sql.extensions` when the session is made.
 *
 * Spark's operators accept the class name of one of its own providers and no other. In a streaming plan
 * whose provider is this one, the extension puts subclasses in their place that accept it and change
 * nothing else; every other plan stays as it is. A function of the package that takes many keys gets an operator that
 * gives it many, with every provider; without the extension it runs on Spark's, one key at a time. Spark's offline
 * repartition, which does not know this provider, is refused without a trace in the checkpoint. Where the setting
 * `partitions` says so, a checkpoint gets the session's number of partitions before its query starts. A deduplication that would
 * not find the keys of its checkpoint, as it began with Spark 4.3 and this one is older, does not start. SQL may name the path of a
 * checkpoint where it names a table (see [[BucketstateSource]]). On a Spark of another minor version than the jar's, queries end
 * with an error that says so.
 */
final class BucketstateExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    val provider = classOf[BucketedStateStoreProvider].getName
    extensions.injectColumnar(new TransformWithStateRule(_, provider))
    extensions.injectColumnar(_ => new BuiltForSparkRule(provider))
    extensions.injectColumnar(_ => new ManyKeysRule)
    // Among the hints, because these are resolved before sources are.
    extensions.injectHintResolutionRule(new RepartitionRule(_, provider))
    extensions.injectHintResolutionRule(_ => new PathRule(BucketstateSource.Format))
    extensions.injectCheckRule(new KeyOrderOnStart(_, provider))
    extensions.injectCheckRule(new RewriteOnStart(_, provider))
  }
}
