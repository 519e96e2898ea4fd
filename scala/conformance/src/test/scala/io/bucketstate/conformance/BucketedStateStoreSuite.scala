package io.bucketstate.conformance

import java.io.File
import java.util.UUID

import scala.util.Random

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.SparkException
import org.apache.spark.sql.execution.streaming.state.StateStoreTestsHelper._
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.scalatest.BeforeAndAfter

/**
 * Spark's suite for providers. Everything overridden here is what the suite asks a provider's author for:
 * how to make one, and how to read what it holds by way of another one; and where Spark's base trait and
 * its session trait both define a method, which of the two it is.
 */
class BucketedStateStoreSuite
    extends StateStoreSuiteBase[SuiteProvider.Tried]
    with OnBucketstate
    with BeforeAndAfter {

  before(StateStore.stop())
  after(StateStore.stop())

  private def make(
      storeId: StateStoreId = StateStoreId(newDir(), Random.nextInt().toLong, 0),
      keySchema: StructType = keySchema,
      keySpec: Option[KeyStateEncoderSpec] = None,
      families: Boolean = false,
      sqlConf: SQLConf = SQLConf.get,
      hadoopConf: Configuration = new Configuration
  ): SuiteProvider.Tried = {
    hadoopConf.set("sql.streaming.runId", UUID.randomUUID().toString)
    val provider = SuiteProvider.make()
    provider.init(
      storeId,
      keySchema,
      valueSchema,
      keySpec.getOrElse(NoPrefixKeyStateEncoderSpec(keySchema)),
      families,
      StateStoreConf(sqlConf),
      hadoopConf,
      useMultipleValuesPerKey = false,
      None
    )
    provider
  }

  override def newStoreProvider(): SuiteProvider.Tried = make()

  override def newStoreProvider(storeId: StateStoreId): SuiteProvider.Tried = make(storeId)

  override def newStoreProvider(
      storeId: StateStoreId,
      useColumnFamilies: Boolean
  ): SuiteProvider.Tried = make(storeId, families = useColumnFamilies)

  override def newStoreProvider(
      storeId: StateStoreId,
      conf: Configuration
  ): SuiteProvider.Tried = make(storeId, hadoopConf = conf)

  override def newStoreProvider(
      minDeltasForSnapshot: Int,
      numOfVersToRetainInMemory: Int
  ): SuiteProvider.Tried =
    make(sqlConf = getDefaultSQLConf(minDeltasForSnapshot, numOfVersToRetainInMemory))

  override def newStoreProvider(
      keySchema: StructType,
      keyStateEncoderSpec: KeyStateEncoderSpec,
      useColumnFamilies: Boolean
  ): SuiteProvider.Tried =
    make(keySchema = keySchema, keySpec = Some(keyStateEncoderSpec), families = useColumnFamilies)

  override def newStoreProvider(useColumnFamilies: Boolean): SuiteProvider.Tried =
    make(families = useColumnFamilies)

  // Not `override`: Spark 4.0 asks for neither.
  def newStoreProviderWithClonedConf(storeId: StateStoreId): SuiteProvider.Tried =
    make(storeId, sqlConf = SQLConf.get.clone())

  def newStoreProviderNoInit(): SuiteProvider.Tried = SuiteProvider.make()

  override def getDefaultSQLConf(
      minDeltasForSnapshot: Int,
      numOfVersToRetainInMemory: Int
  ): SQLConf = {
    val conf = SQLConf.get.clone()
    conf.setConf(SQLConf.STATE_STORE_MIN_DELTAS_FOR_SNAPSHOT, minDeltasForSnapshot)
    conf.setConf(SQLConf.MAX_BATCHES_TO_RETAIN_IN_MEMORY, numOfVersToRetainInMemory)
    conf
  }

  /** A provider does not say which version is its newest: the folder does. */
  override def getLatestData(
      storeProvider: SuiteProvider.Tried,
      useColumnFamilies: Boolean
  ): Set[((String, Int), Int)] = {
    val folder = new File(storeProvider.stateStoreId.storeCheckpointLocation().toUri.getPath)
    val versions = Option(folder.list).toSeq.flatten.collect {
      case name if name.endsWith(".changelog") && !name.startsWith(".") =>
        name.stripSuffix(".changelog").toInt
    }
    getData(storeProvider, versions.maxOption.getOrElse(0), useColumnFamilies)
  }

  override def getData(
      storeProvider: SuiteProvider.Tried,
      version: Int,
      useColumnFamilies: Boolean
  ): Set[((String, Int), Int)] =
    tryWithProviderResource(make(storeProvider.stateStoreId, families = useColumnFamilies)) {
      reloaded =>
        val store = reloaded.getStore(version.toLong)
        try store.iterator().map(rowPairToDataPair).toSet
        finally if (!store.hasCommitted) store.abort()
    }

  /** A snapshot is a manifest here; the base class knows the file names of Spark's own providers. */
  override protected def fileExists(
      provider: SuiteProvider.Tried,
      version: Long,
      isSnapshot: Boolean
  ): Boolean = {
    val name = if (isSnapshot) s"$version.manifest" else s"$version.changelog"
    val path = new Path(provider.stateStoreId.storeCheckpointLocation(), name)
    path.getFileSystem(new Configuration).exists(path)
  }

  /** As Spark's test of the same failure, but for the name of the store class in the message. */
  testQuietly("a commit fails when the file system's rename fails") {
    val scheme = RenameReturnsFalseFileSystem.scheme
    val conf = new Configuration
    conf.set(s"fs.$scheme.impl", classOf[RenameReturnsFalseFileSystem].getName)
    tryWithProviderResource(make(StateStoreId(s"$scheme://${newDir()}", 0, 0), hadoopConf = conf)) {
      provider =>
        val store = provider.getStore(0)
        put(store, "a", 0, 0)
        val error =
          try intercept[SparkException](store.commit())
          finally store.abort()
        assert(error.getCondition == "CANNOT_WRITE_STATE_STORE.CANNOT_COMMIT")
        assert(error.getMessage.contains("BucketedStateStore"))
        assert(error.getMessage.contains("operatorId=0, partitionId=0"))
        val causes = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null)
        assert(causes.exists(_.getMessage.contains("Failed to rename")))
    }
  }

  /** As Spark's test of how stores differ, with what it expects of RocksDB. */
  testWithAllCodec("a scan is of the moment it began") { families =>
    val id = StateStoreId(newDir(), 0L, 1)
    def onVersion(version: Long)(body: StateStore => Unit): Long =
      tryWithProviderResource(newStoreProvider(id, families)) { provider =>
        val store = provider.getStore(version)
        try {
          body(store)
          store.commit()
        } finally if (!store.hasCommitted) store.abort()
      }

    val version = onVersion(0) { store =>
      val first = store.iterator()
      put(store, "1", 11, 100)
      put(store, "2", 22, 200)
      val second = store.iterator()
      put(store, "1", 11, 101)
      put(store, "3", 33, 300)
      val third = store.iterator()
      assert(rowPairsToDataSet(first) == Set.empty)
      assert(rowPairsToDataSet(second) == Set(("1", 11) -> 100, ("2", 22) -> 200))
      assert(rowPairsToDataSet(third) == Set(("1", 11) -> 101, ("2", 22) -> 200, ("3", 33) -> 300))
    }
    onVersion(version) { store =>
      val first = store.iterator()
      put(store, "3", 33, 301)
      remove(store, _._1 == "2")
      val second = store.iterator()
      put(store, "4", 44, 400)
      val third = store.iterator()
      assert(rowPairsToDataSet(first) == Set(("1", 11) -> 101, ("2", 22) -> 200, ("3", 33) -> 300))
      assert(rowPairsToDataSet(second) == Set(("1", 11) -> 101, ("3", 33) -> 301))
      assert(rowPairsToDataSet(third) == Set(("1", 11) -> 101, ("3", 33) -> 301, ("4", 44) -> 400))
    }
  }

  override protected def testQuietly(name: String)(f: => Unit): Unit =
    super[StateStoreSuiteBase].testQuietly(name)(f)
}
