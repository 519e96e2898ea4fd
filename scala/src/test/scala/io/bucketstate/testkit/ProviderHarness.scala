package io.bucketstate.testkit

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path}
import java.util.UUID
import java.util.concurrent.ConcurrentLinkedQueue

import scala.util.Try

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.bucketstate.BucketedStateStoreProvider
import io.bucketstate.config.ConfigKey
import io.bucketstate.record.Expiry
import io.bucketstate.spark.StoreView

/**
 * Drives a provider as Spark does, through its public doors only: keys are (long, string), values
 * (long, binary). One harness is one checkpoint folder; `provider()` is one executor's provider for it.
 *
 * @param always settings of every provider
 * @param root   what is in front of the folder in its location, such as `hdfs://host:port`
 * @param lists  whether keys of the default family may have several values, which asks for `families`
 */
final class ProviderHarness(
    val folder: Path,
    val keySpec: KeyStateEncoderSpec = ProviderHarness.plainKeys,
    hadoop: Configuration => Unit = _ => (),
    families: Boolean = false,
    valueSchema: StructType = ProviderHarness.ValueSchema,
    always: Seq[(String, String)] = Nil,
    root: String = "file:",
    lists: Boolean = false
) {
  import ProviderHarness._

  val storeId: StateStoreId = StateStoreId(s"$root$folder", 0, 0)

  /** Where the store's files are. */
  val storeFolder: Path = folder.resolve("0").resolve("0")

  def provider(settings: (String, String)*): StateStoreProvider = {
    val conf = new SQLConf
    conf.setConfString("spark.sql.streaming.stateStore.providerClass", ProviderClass)
    (EngineUnderTest.settings ++ always ++ settings).foreach { case (key, value) =>
      conf.setConfString(key, value)
    }
    val hadoopConf = new Configuration(false)
    hadoop(hadoopConf)
    val made = StateStoreProvider.createAndInit(
      StateStoreProviderId(storeId, UUID.randomUUID()),
      KeySchema,
      valueSchema,
      keySpec,
      useColumnFamilies = families,
      StateStoreConf(conf),
      hadoopConf,
      useMultipleValuesPerKey = lists,
      stateSchemaProvider = None
    )
    providers.add(folder -> made)
    made
  }

  def file(name: String): Path = storeFolder.resolve(name)
}

object ProviderHarness {

  /** Turns checkpoint ids on. */
  val Format2: (String, String) = "spark.sql.streaming.stateStore.checkpointFormatVersion" -> "2"

  val ProviderClass = "io.bucketstate.BucketedStateStoreProvider"

  val KeySchema: StructType = new StructType().add("k1", LongType).add("k2", StringType)
  val ValueSchema: StructType = new StructType().add("v1", LongType).add("v2", BinaryType)

  /** The same values, whose number is the microseconds of a time. */
  val TimedValueSchema: StructType =
    new StructType().add("v1", TimestampType).add("v2", BinaryType)

  /** Settings that let state expire. */
  def ageing(column: String, expiry: Expiry): Seq[(String, String)] = Seq(
    ConfigKey.TimeBucketColumn.key -> column,
    ConfigKey.TimeBucketSpan.key -> s"${expiry.span}s",
    ConfigKey.TimeBucketExpireAfter.key -> s"${expiry.after.get}s"
  )

  /** Settings that keep together what is of one time. */
  def windowsBy(column: String, spanSeconds: Long): Seq[(String, String)] = Seq(
    ConfigKey.TimeBucketColumn.key -> column,
    ConfigKey.TimeBucketSpan.key -> s"${spanSeconds}s"
  )

  val plainKeys: KeyStateEncoderSpec = NoPrefixKeyStateEncoderSpec(KeySchema)
  val prefixKeys: KeyStateEncoderSpec = PrefixKeyScanStateEncoderSpec(KeySchema, 1)

  private val keys = UnsafeProjection.create(KeySchema)
  private val prefixes = UnsafeProjection.create(StructType(KeySchema.take(1)))
  private val values = UnsafeProjection.create(ValueSchema)

  private def row(projection: UnsafeProjection, fields: Any*): UnsafeRow =
    projection.synchronized(projection(new GenericInternalRow(fields.toArray)).copy())

  /** All that were made for a folder, so that those a failed test leaves open do not outlive it. */
  private val providers = new ConcurrentLinkedQueue[(Path, StateStoreProvider)]

  def withFolder[A](body: Path => A): A = {
    val folder = Files.createTempDirectory("bucketstate-test ")
    try body(folder)
    finally {
      closeAll(folder)
      deleteAll(folder)
    }
  }

  private def closeAll(folder: Path): Unit = providers.removeIf { case (its, provider) =>
    val ours = its.startsWith(folder)
    // A store that its test left open is in the way of closing; the test has failed already.
    if (ours) Try(provider.close())
    ours
  }

  def withHarness[A](body: ProviderHarness => A): A = withHarness(Nil)(body)

  def withHarness[A](always: Seq[(String, String)])(body: ProviderHarness => A): A =
    withFolder(f => body(new ProviderHarness(f, always = always)))

  /** With a checkpoint that is reached through Spark's file manager, as on an object store, and may fail. */
  def withFaults[A](body: (ProviderHarness, FaultyFileManager.Script) => A): A =
    withFaults(Nil)(body)

  def withFaults[A](
      always: Seq[(String, String)]
  )(body: (ProviderHarness, FaultyFileManager.Script) => A): A =
    withFolder { folder =>
      FaultyFileManager.script(folder) { script =>
        val harness =
          new ProviderHarness(folder, hadoop = FaultyFileManager.configure, always = always)
        body(harness, script)
      }
    }

  def deleteAll(path: Path): Unit = {
    if (Files.isDirectory(path)) {
      val children = Files.list(path)
      try children.forEach(deleteAll(_))
      finally children.close()
    }
    Files.deleteIfExists(path)
    ()
  }

  def key(number: Long, name: String): UnsafeRow = row(keys, number, UTF8String.fromString(name))

  def prefix(number: Long): UnsafeRow = row(prefixes, number)

  def value(number: Long, text: String): UnsafeRow = row(values, number, text.getBytes(UTF_8))

  /** The column family that every store has. */
  val Default: String = StateStore.DEFAULT_COL_FAMILY_NAME

  /** As the project's own, which has calls that older Sparks have not. */
  def ours(provider: StateStoreProvider): BucketedStateStoreProvider =
    provider.asInstanceOf[BucketedStateStoreProvider]

  def ours(store: ReadStateStore): StoreView = store.asInstanceOf[StoreView]

  def keyOf(row: UnsafeRow): (Long, String) =
    (row.getLong(0), String.valueOf(row.getUTF8String(1)))

  def valueOf(row: UnsafeRow): (Long, String) =
    (row.getLong(0), Option(row.getBinary(1)).fold("null")(new String(_, UTF_8)))

  /** Everything a store holds, read by iteration. */
  def contents(store: ReadStateStore): Map[(Long, String), (Long, String)] = {
    val iterator = store.iterator()
    try iterator.map(pair => keyOf(pair.key) -> valueOf(pair.value)).toMap
    finally iterator.close()
  }

  /** The same of a store of lists: all values of each key, in their order. */
  def listsOf(store: ReadStateStore): Map[(Long, String), Seq[(Long, String)]] = {
    val iterator = ours(store).iteratorWithMultiValues(Default)
    try
      iterator.map(pair => keyOf(pair.key) -> valueOf(pair.value)).toVector.groupMap(_._1)(_._2)
    finally iterator.close()
  }

  /** A store's custom metrics by name. */
  def figures(store: StateStore): Map[String, Long] =
    store.metrics.customMetrics.map { case (metric, n) => metric.name -> n }

  /** Opens a version, changes it, commits; `puts` before `removes`. */
  def batch(provider: StateStoreProvider, version: Long)(
      puts: ((Long, String), (Long, String))*
  )(removes: (Long, String)*): Long =
    attempt(provider, version, None)(puts: _*)(removes: _*).batchVersion

  /** The same with checkpoint ids: builds on the attempt `base` and tells its own id. */
  def attempt(provider: StateStoreProvider, version: Long, base: Option[String])(
      puts: ((Long, String), (Long, String))*
  )(removes: (Long, String)*): StateStoreCheckpointInfo = {
    val store = provider.getStore(version, base)
    puts.foreach { case ((a, b), (c, d)) => store.put(key(a, b), value(c, d)) }
    removes.foreach { case (a, b) => store.remove(key(a, b)) }
    store.commit()
    store.getStateStoreCheckpointInfo()
  }
}
