package io.bucketstate.bench

import java.nio.file.Path
import java.util.UUID

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

import io.bucketstate.config.ConfigKey

/**
 * What a store holds.
 *
 * @param multiValued whether keys have lists of values, which needs column families
 */
final case class StoreSchema(
    key: StructType,
    value: StructType,
    keySpec: KeyStateEncoderSpec,
    multiValued: Boolean = false
)

object StoreSchema {

  /** That of [[Workload]]'s rows. */
  def of(keySpec: KeyStateEncoderSpec): StoreSchema =
    StoreSchema(Workload.keySchema, Workload.valueSchema, keySpec)

  val plain: StoreSchema = of(NoPrefixKeyStateEncoderSpec(Workload.keySchema))
}

/**
 * One of the providers that run side by side: named on the command line, loaded by class name.
 *
 * @param localStays whether all who open a checkpoint have one folder for local files, as on a machine that a
 *                   query comes back to; else these are gone with the JVM
 */
final case class Contender(
    name: String,
    className: String,
    settings: Map[String, String] = Map.empty,
    localStays: Boolean = false
) {

  /** Whether there is something to restart from. */
  def isDurable: Boolean = this != Contender.hashmap

  def storeConf(options: BenchOptions): StateStoreConf = {
    val sqlConf = new SQLConf
    val own = settings + (SQLConf.STATE_STORE_PROVIDER_CLASS.key -> className)
    (own ++ options.settings).foreach { case (key, value) => sqlConf.setConfString(key, value) }
    new StateStoreConf(sqlConf)
  }

  private def localDir(checkpoint: Path): Option[(String, String)] =
    Option.when(localStays) {
      ConfigKey.LocalDir.key -> Contender.localFolder(checkpoint).toString
    }

  /** A new provider for a checkpoint in a folder. */
  def provider(
      options: BenchOptions,
      folder: Path,
      schema: StoreSchema = StoreSchema.plain
  ): StateStoreProvider = {
    val counted = options.fileAccess == FileAccess.Counted
    val hadoopConf = new Configuration
    if (counted) {
      hadoopConf.set(
        s"fs.${CountedFileSystem.scheme}.impl",
        classOf[CountedFileSystem].getName
      )
      hadoopConf.set(
        SQLConf.STREAMING_CHECKPOINT_FILE_MANAGER_CLASS.parent.key,
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
      )
    }
    val root = if (counted) s"${CountedFileSystem.scheme}://$folder" else folder.toUri.toString
    StateStoreProvider.createAndInit(
      StateStoreProviderId(StateStoreId(root, operatorId = 0, partitionId = 0), UUID.randomUUID()),
      schema.key,
      schema.value,
      schema.keySpec,
      useColumnFamilies = schema.multiValued,
      storeConf(options.copy(settings = options.settings ++ localDir(folder))),
      hadoopConf,
      useMultipleValuesPerKey = schema.multiValued,
      None
    )
  }
}

object Contender {
  private val prefix = "org.apache.spark.sql.execution.streaming.state"

  val hdfs: Contender = Contender("hdfs", s"$prefix.HDFSBackedStateStoreProvider")

  /** As it is when nobody turns its changelog on. */
  val rocksdbDefault: Contender =
    Contender("rocksdb-default", s"$prefix.RocksDBStateStoreProvider")

  val rocksdb: Contender = rocksdbDefault.copy(
    name = "rocksdb",
    settings =
      Map("spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled" -> "true")
  )

  /** As Spark's guide advises: with an upper bound of its memory, Spark's own of 500 MB, and without counting rows. */
  val tuned: Contender = rocksdb.copy(
    name = "rocksdb-tuned",
    settings = rocksdb.settings ++ Map(
      "spark.sql.streaming.stateStore.rocksdb.boundedMemoryUsage" -> "true",
      "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows" -> "false"
    )
  )

  /** The limit: what no provider can beat, as it keeps nothing. */
  val hashmap: Contender = Contender("hashmap", classOf[HashMapStateStoreProvider].getName)

  val bucketed: Contender = Contender("bucketed", "io.bucketstate.BucketedStateStoreProvider")

  /** The same in an application with the plugin, which warms the process up as it does executors: of use where there is a query. */
  val withPlugin: Contender = bucketed.copy(
    name = "bucketed-plugin",
    settings = Map(
      "spark.plugins" -> "io.bucketstate.BucketstatePlugin",
      "spark.bucketstate.jvmWarmUp" -> "2000"
    )
  )

  /** The same with its second engine, to be held against `rocksdb`. */
  val native: Contender = bucketed.copy(
    name = "bucketed-rocksdb",
    settings = Map("spark.sql.streaming.stateStore.bucketed.engine" -> "rocksdb")
  )

  /** That one on the machine where it ran before. */
  val nativeAgain: Contender = native.copy(name = "bucketed-rocksdb-local", localStays = true)

  /** What a long run is like when snapshots never come: tells their cost from that of the rest. */
  val withoutSnapshots: Contender = bucketed.copy(
    name = "no-snapshots",
    settings = Seq("maxVersions" -> "1000000", "maxBytes" -> "1000g").map { case (key, value) =>
      s"spark.sql.streaming.stateStore.bucketed.snapshot.$key" -> value
    }.toMap
  )

  /** A restart that waits for everything: tells how long that is. */
  val eager: Contender = bucketed.copy(
    name = "eager",
    settings = Map("spark.sql.streaming.stateStore.bucketed.restore.mode" -> "eager")
  )

  /** The providers as people use them, and the limit. */
  val sideBySide: Seq[Contender] = Seq(hdfs, rocksdb, tuned, hashmap, bucketed)

  /** Spark's own that has column families. */
  val sparksRocksdb: Seq[Contender] = Seq(rocksdbDefault, rocksdb, tuned)

  val all: Seq[Contender] =
    sideBySide ++ Seq(rocksdbDefault, withPlugin, native, nativeAgain, withoutSnapshots, eager)

  /** Where local files stay of whoever has a checkpoint in a folder: beside it, as they are no part of it. */
  def localFolder(checkpoint: Path): Path =
    checkpoint.resolveSibling(s"${checkpoint.getFileName}-local")

  def named(name: String): Contender = all.find(_.name == name).getOrElse {
    throw new IllegalArgumentException(
      s"there is no provider '$name': one of ${all.map(_.name).mkString(", ")}"
    )
  }

  /** @throws java.lang.IllegalArgumentException that names the classes that cannot be loaded */
  def requireLoadable(contenders: Seq[Contender]): Unit = {
    val missing = contenders.filterNot(c => loadable(c.className))
    require(
      missing.isEmpty, {
        val present = contenders.diff(missing).map(_.name).mkString(",")
        s"not on the classpath: ${missing.map(_.className).mkString(", ")}; " +
          s"build it, or go on without it: --providers $present"
      }
    )
  }

  private def loadable(className: String): Boolean =
    try Class.forName(className, false, getClass.getClassLoader) != null
    catch { case _: ClassNotFoundException => false }
}
