package io.bucketstate.plugin.warm

import java.nio.file.Path

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.types.{BinaryType, LongType, StructType}

/**
 * A state of some hundred keys in a folder of its own, taken through what tasks do with theirs: batches, a snapshot,
 * a restart behind it, and a batch after that. One with column families has what `transformWithState` has: a value, a
 * list, and timers.
 *
 * Rows are written by hand: projections would be generated and compiled, which costs more than all the rest.
 *
 * @param make   a provider that is not initialised
 * @param conf   with snapshots inside of commits
 * @param folder that nobody else uses; it need not be there
 */
private[warm] final class SmallStore(
    make: () => StateStoreProvider,
    conf: StateStoreConf,
    hadoopConf: Configuration,
    folder: Path,
    hasFamilies: Boolean
) {
  import SmallStore._

  /** What is done, in steps of some milliseconds each. Whoever stops in the middle calls [[close]]. */
  def steps: Iterator[() => Unit] =
    (0 until Batches).iterator.map(version => () => batch(version.toLong)) ++
      Iterator(() => close(), () => batch(Batches.toLong), () => abort(Batches + 1L), () => close())

  /** Lets go of what is open. */
  def close(): Unit = {
    opened.foreach(_.close())
    opened = None
  }

  private[this] var opened: Option[StateStoreProvider] = None

  private def provider: StateStoreProvider = opened.getOrElse {
    val made = make()
    opened = Some(made)
    made.init(
      StateStoreId(folder.toUri.toString, 0L, 0),
      Key,
      Value,
      NoPrefixKeyStateEncoderSpec(Key),
      hasFamilies,
      conf,
      hadoopConf,
      useMultipleValuesPerKey = false,
      stateSchemaProvider = None
    )
    made
  }

  private def batch(version: Long): Unit = {
    val store = provider.getStore(version)
    try {
      change(store, version)
      store.commit()
      // What Spark asks for after each commit.
      require(store.metrics.numKeys > 0)
    } finally if (!store.hasCommitted) store.abort()
  }

  private def abort(version: Long): Unit = {
    val store = provider.getStore(version)
    try change(store, version)
    finally store.abort()
  }

  private def change(store: StateStore, version: Long): Unit =
    if (hasFamilies) changeFamilies(store, version) else changePlain(store, version)

  private def changePlain(store: StateStore, version: Long): Unit = {
    // As an aggregation does: look, and put what comes of it.
    for (number <- 0 until Keys) {
      val found = store.get(key(number.toLong))
      store.put(key(number.toLong), value(if (found == null) version else found.getLong(0) + 1))
    }
    (0 until Keys by 16).foreach(number => store.remove(key(number.toLong)))
    passOver(store.iterator())
  }

  private def changeFamilies(store: StateStore, version: Long): Unit = {
    store.createColFamilyIfAbsent(Values, Key, Value, NoPrefixKeyStateEncoderSpec(Key))
    store.createColFamilyIfAbsent(
      Lists,
      Key,
      Value,
      NoPrefixKeyStateEncoderSpec(Key),
      useMultipleValuesPerKey = true
    )
    store.createColFamilyIfAbsent(
      Timers,
      Key,
      Value,
      RangeKeyScanStateEncoderSpec(Key, Seq(0))
    )
    for (number <- 0 until Keys) {
      val at = key(number.toLong)
      store.get(at, Values)
      store.put(at, value(version), Values)
      store.merge(at, value(version), Lists)
      store.put(at, value(version), Timers)
    }
    store.valuesIterator(key(0L), Lists).foreach(_ => ())
    (0 until Keys by 16).foreach(number => store.remove(key(number.toLong), Timers))
    passOver(store.iterator(Timers))
  }
}

private[warm] object SmallStore {

  /** So many that every bucket has some. */
  private final val Keys = 256

  /** So many that a restart finds a snapshot and a changelog behind it. */
  private final val Batches = 4

  /** Behind every second batch a snapshot. */
  val SnapshotVersions = 2

  private val Values = "values"
  private val Lists = "lists"
  private val Timers = "timers"

  private val Key = new StructType().add("key", LongType, nullable = false)
  private val Value = new StructType().add("number", LongType).add("bytes", BinaryType)

  private def key(number: Long): UnsafeRow = row(1, number, _ => ())

  private def value(number: Long): UnsafeRow = row(2, number, _.write(1, Array[Byte](1, 2, 3, 4)))

  private def row(fields: Int, number: Long, rest: UnsafeRowWriter => Unit): UnsafeRow = {
    val writer = new UnsafeRowWriter(fields)
    writer.resetRowWriter()
    writer.write(0, number)
    rest(writer)
    writer.getRow
  }

  private def passOver(iterator: StateStoreIterator[UnsafeRowPair]): Unit =
    try iterator.foreach(_ => ())
    finally iterator.close()
}
