package io.bucketstate.conformance

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf

/** The method in which Spark's base class of the state variables makes a store, without what differs in its types. */
trait VariableStores extends StateVariableSuiteBase {
  protected def standIn(
      storeId: StateStoreId,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      sqlConf: SQLConf,
      conf: Configuration,
      useColumnFamilies: Boolean,
      schemaProvider: Option[StateSchemaProvider]
  ): StandIn

  override protected def newStoreProviderWithStateVariable(
      storeId: StateStoreId,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      sqlConf: SQLConf,
      conf: Configuration,
      useColumnFamilies: Boolean
  ): StandIn = standIn(storeId, keyStateEncoderSpec, sqlConf, conf, useColumnFamilies, None)
}
