package io.bucketstate.spark

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._

import io.bucketstate.spark.StoreLifecycle._

/** What every opened store does: reads at one version, and a life that ends once. */
private[spark] abstract class StoreView(
    override val id: StateStoreId,
    override val version: Long,
    family: FamilyView,
    validator: RowValidator
) extends ReadStateStore {
  @volatile protected var state: State = Updating

  /** The version reads are made at: a write store sees its own changes. */
  protected def readAt: Long

  /** Throws unless the store may be used now. On the path of every call: two volatile reads. */
  protected def requireOpen(): Unit

  override def get(key: UnsafeRow, colFamilyName: String): UnsafeRow = {
    requireOpen()
    requireKey(key)
    val view = familyOf(colFamilyName, "get")
    val value = view.get(key, readAt)
    if (value != null) validator.check(key, value)
    value
  }

  override def multiGet(keys: Array[UnsafeRow], colFamilyName: String): Iterator[UnsafeRow] = {
    requireOpen()
    if (keys == null) requireKey(null)
    keys.foreach(requireKey)
    val view = familyOf(colFamilyName, "multiGet")
    keys.iterator.map(view.get(_, readAt))
  }

  override def keyExists(key: UnsafeRow, colFamilyName: String): Boolean = {
    requireOpen()
    requireKey(key)
    familyOf(colFamilyName, "keyExists").contains(key, readAt)
  }

  override def iterator(colFamilyName: String): StateStoreIterator[UnsafeRowPair] = {
    requireOpen()
    checked(familyOf(colFamilyName, "iterator").pairs(readAt))
  }

  override def prefixScan(
      prefixKey: UnsafeRow,
      colFamilyName: String
  ): StateStoreIterator[UnsafeRowPair] = {
    requireOpen()
    val view = familyOf(colFamilyName, "prefixScan")
    require(view.schema.scannable, "Prefix scan requires setting prefix key!")
    requireKey(prefixKey)
    checked(view.prefixed(prefixKey, readAt))
  }

  override def allColumnFamilyNames: Set[String] = Set(StateStore.DEFAULT_COL_FAMILY_NAME)

  override def valuesIterator(key: UnsafeRow, colFamilyName: String): Iterator[UnsafeRow] =
    throw StoreView.oneValuePerKey("valuesIterator")

  override def prefixScanWithMultiValues(
      prefixKey: UnsafeRow,
      colFamilyName: String
  ): StateStoreIterator[UnsafeRowPair] = throw StoreView.oneValuePerKey("prefixScanWithMultiValues")

  override def iteratorWithMultiValues(
      colFamilyName: String
  ): StateStoreIterator[UnsafeRowPair] = throw StoreView.oneValuePerKey("iteratorWithMultiValues")

  protected def familyOf(name: String, operation: String): FamilyView =
    if (name == StateStore.DEFAULT_COL_FAMILY_NAME) family
    else throw StateStoreErrors.unsupportedOperationException(operation, StoreView.OneFamily)

  protected def requireKey(key: UnsafeRow): Unit =
    if (key == null) throw new IllegalStateException("Key cannot be null")

  private def checked(pairs: Iterator[UnsafeRowPair]): StateStoreIterator[UnsafeRowPair] =
    new StateStoreIterator(pairs.map { pair =>
      validator.check(pair.key, pair.value)
      pair
    })
}

private[spark] object StoreView {
  val Provider = "BucketedStateStoreProvider"
  val OneFamily: String = s"multiple column families is disabled in $Provider"

  def oneValuePerKey(operation: String): Throwable =
    StateStoreErrors.unsupportedOperationException(operation, Provider)
}
