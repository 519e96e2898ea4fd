package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.StructType

import io.bucketstate.spark.StoreLifecycle._

/** What every opened store does: reads at one version, and a life that ends once. */
private[bucketstate] abstract class StoreView(
    override val id: StateStoreId,
    override val version: Long,
    protected val families: FamilyViews,
    validator: RowValidator
) extends SparkReadStore {
  @volatile protected var state: State = Updating

  /** The version reads are made at: a write store sees its own changes. */
  protected def readAt: Long

  /** Throws unless the store may be used now. On the path of every call: two volatile reads. */
  protected def requireOpen(): Unit

  override def get(key: UnsafeRow, colFamilyName: String): UnsafeRow = {
    requireOpen()
    requireKey(key)
    val value = families.of(colFamilyName, "get").get(key, readAt)
    if (value != null) check(key, value)
    value
  }

  override def multiGet(keys: Array[UnsafeRow], colFamilyName: String): Iterator[UnsafeRow] = {
    requireOpen()
    verify(keys != null && keys.forall(_ != null), "Keys cannot be null")
    families.of(colFamilyName, "multiGet").getAll(keys, readAt)
  }

  override def keyExists(key: UnsafeRow, colFamilyName: String): Boolean = {
    requireOpen()
    requireKey(key)
    families.of(colFamilyName, "keyExists").contains(key, readAt)
  }

  override def iterator(colFamilyName: String): StateStoreIterator[UnsafeRowPair] = {
    requireOpen()
    val view = families.of(colFamilyName, "iterator")
    val inOrder = IterationOrder.isByKey && view.keys.scansRanges
    if (inOrder) checked(view.rows(view.ranged(None, None, readAt))) else all(view)
  }

  /** All pairs of a family, in an order of the store's choice. */
  protected def all(view: FamilyView): StateStoreIterator[UnsafeRowPair] =
    checked(view.rows(view.pairs(readAt)))

  override def prefixScan(
      prefixKey: UnsafeRow,
      colFamilyName: String
  ): StateStoreIterator[UnsafeRowPair] = {
    requireOpen()
    val view = families.of(colFamilyName, "prefixScan")
    require(view.keys.scansPrefixes, "Prefix scan requires setting prefix key!")
    requireKey(prefixKey)
    checked(view.rows(view.prefixed(prefixKey, readAt)))
  }

  override def rangeScan(
      startKey: Option[UnsafeRow],
      endKey: Option[UnsafeRow],
      colFamilyName: String
  ): StateStoreIterator[UnsafeRowPair] = {
    requireOpen()
    val view = families.of(colFamilyName, "rangeScan")
    require(view.keys.scansRanges, "Range scan requires an encoder that supports range scanning!")
    checked(view.rows(view.ranged(startKey, endKey, readAt)))
  }

  override def valuesIterator(key: UnsafeRow, colFamilyName: String): Iterator[UnsafeRow] = {
    requireOpen()
    requireKey(key)
    val view = families.of(colFamilyName, "valuesIterator")
    verify(
      view.schema.multiValued,
      "valuesIterator requires a encoder that supports multiple values for a single key."
    )
    view.valuesOf(key, readAt)
  }

  override def iteratorWithMultiValues(
      colFamilyName: String
  ): StateStoreIterator[UnsafeRowPair] = {
    requireOpen()
    val view = families.of(colFamilyName, "iteratorWithMultiValues")
    requireValues(view)
    checked(view.allRows(view.pairs(readAt)))
  }

  override def prefixScanWithMultiValues(
      prefixKey: UnsafeRow,
      colFamilyName: String
  ): StateStoreIterator[UnsafeRowPair] = {
    requireOpen()
    val view = families.of(colFamilyName, "prefixScanWithMultiValues")
    verify(
      view.keys.scansPrefixes,
      "prefixScanWithMultiValues requires encoder supporting prefix scan!"
    )
    requireValues(view)
    requireKey(prefixKey)
    checked(view.allRows(view.prefixed(prefixKey, readAt)))
  }

  override def rangeScanWithMultiValues(
      startKey: Option[UnsafeRow],
      endKey: Option[UnsafeRow],
      colFamilyName: String
  ): StateStoreIterator[UnsafeRowPair] = {
    requireOpen()
    val view = families.of(colFamilyName, "rangeScanWithMultiValues")
    require(
      view.keys.scansRanges,
      "Range scan with multiple values requires an encoder that supports range scanning!"
    )
    requireValues(view)
    checked(view.allRows(view.ranged(startKey, endKey, readAt)))
  }

  /** What a family is like that lies in the checkpoint: for Spark's state reader, which creates none. */
  override def registerColFamily(
      colFamilyName: String,
      keySchema: StructType,
      valueSchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      useMultipleValuesPerKey: Boolean,
      isInternal: Boolean
  ): Unit = {
    requireOpen()
    families.register(
      FamilySchema(
        colFamilyName,
        keySchema,
        valueSchema,
        keyStateEncoderSpec,
        useMultipleValuesPerKey,
        isInternal,
        families.schemas
      )
    )
  }

  override def allColumnFamilyNames: Set[String] = families.names

  protected def requireKey(key: UnsafeRow): Unit =
    if (key == null) throw new IllegalStateException("Key cannot be null")

  /** With the exception that Spark's RocksDB provider throws. */
  protected def verify(condition: Boolean, message: String): Unit =
    if (!condition) throw new IllegalStateException(message)

  private def requireValues(view: FamilyView): Unit = verify(
    view.schema.multiValued,
    "Multi-value iterator operation requires an encoder which supports multiple values for a single key"
  )

  private def check(key: UnsafeRow, value: UnsafeRow): Unit =
    if (families.isValidated) validator.check(key, value)

  protected def checked(scanned: ScannedPairs): StateStoreIterator[UnsafeRowPair] =
    if (!families.isValidated || validator.isDone)
      new StateStoreIterator(scanned.all, scanned.close)
    else
      new StateStoreIterator(
        scanned.all.map { pair =>
          validator.check(pair.key, pair.value)
          pair
        },
        scanned.close
      )
}
