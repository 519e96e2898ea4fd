package io.bucketstate.conformance

import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.runtime.StreamExecution
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf

import io.bucketstate.BucketedStateStoreProvider

// The state variables and timers of transformWithState, below the queries.

/**
 * Gives the tests stores of this project's provider, where Spark's base class says in its types that they
 * are of its own.
 */
trait VariablesOnBucketstate extends StateVariableSuiteBase with OnBucketstate {
  override protected def newStoreProviderWithStateVariable(
      storeId: StateStoreId,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      sqlConf: SQLConf,
      conf: Configuration,
      useColumnFamilies: Boolean,
      schemaProvider: Option[StateSchemaProvider]
  ): StandIn = {
    val provider = new BucketedStateStoreProvider
    conf.set(StreamExecution.RUN_ID_KEY, UUID.randomUUID().toString)
    provider.init(
      storeId,
      schemaForKeyRow,
      schemaForValueRow,
      keyStateEncoderSpec,
      useColumnFamilies,
      new StateStoreConf(sqlConf),
      conf,
      useMultipleValuesPerKey,
      schemaProvider.orElse(Some(new TestStateSchemaProvider))
    )
    new StandIn(provider)
  }

  override protected def tryWithProviderResource[T](
      provider: StateStoreProvider
  )(f: StateStoreProvider => T): T =
    super.tryWithProviderResource(provider match {
      case standIn: StandIn => standIn.provider
      case other            => throw new IllegalArgumentException(s"a test made a $other itself")
    })(f)
}

class BucketedValueStateSuite extends ValueStateSuite with VariablesOnBucketstate
class BucketedValueStateRowChecksumSuite
    extends ValueStateSuiteWithRowChecksum
    with VariablesOnBucketstate
class BucketedListStateSuite extends ListStateSuite with VariablesOnBucketstate
class BucketedListStateRowChecksumSuite
    extends ListStateSuiteWithRowChecksum
    with VariablesOnBucketstate
class BucketedMapStateSuite extends MapStateSuite with VariablesOnBucketstate
class BucketedMapStateRowChecksumSuite
    extends MapStateSuiteWithRowChecksum
    with VariablesOnBucketstate
class BucketedTimerSuite extends TimerSuite with VariablesOnBucketstate
class BucketedTimerRowChecksumSuite extends TimerSuiteWithRowChecksum with VariablesOnBucketstate
class BucketedStatefulProcessorHandleSuite
    extends StatefulProcessorHandleSuite
    with VariablesOnBucketstate
class BucketedStatefulProcessorHandleRowChecksumSuite
    extends StatefulProcessorHandleSuiteWithRowChecksum
    with VariablesOnBucketstate
