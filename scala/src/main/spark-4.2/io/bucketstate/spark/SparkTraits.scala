package io.bucketstate.spark

import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

/** Spark's traits of a provider. */
private[bucketstate] trait SparkProvider extends StateStoreProvider with SupportsFineGrainedReplay

/** Spark's trait of a store that is read, with what later ones have besides. */
private[spark] trait SparkReadStore extends ReadStateStore {
  def registerColFamily(
      colFamilyName: String,
      keySchema: StructType,
      valueSchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      useMultipleValuesPerKey: Boolean,
      isInternal: Boolean
  ): Unit
}

/** Spark's trait of a store that is written. */
private[spark] trait SparkWriteStore extends StateStore
