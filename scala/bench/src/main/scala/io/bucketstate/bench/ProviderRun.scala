package io.bucketstate.bench

import java.nio.file.Path
import java.util.UUID

import scala.collection.mutable.ArrayBuffer

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.execution.streaming.state._
import org.apache.spark.sql.internal.SQLConf

/** One fresh provider in one fresh folder: preload, batches, heap, and the end. */
final class ProviderRun(
    contender: Contender,
    workload: Workload,
    expectedSum: Long,
    options: BenchOptions,
    folder: Path
) {
  private val footprint = new Footprint(folder)
  private val open, getPut, commit, batch, maintenance = ArrayBuffer.empty[Long]
  private val batchCalls, maintenanceCalls = new CallTally
  private var version = 0L
  private var sum = 0L
  private var batchBytes, maintenanceBytes = 0L

  def run(): RunResult = {
    val baseline = Host.settledHeapBytes()
    Host.loadOfOthers()
    val provider = createProvider()
    try {
      preload(provider)
      footprint.look()
      val filesBefore = footprint.files
      for (number <- 0 until options.batches) {
        runBatch(provider, number)
        batchBytes += footprint.look()
        if ((number + 1) % options.maintenanceEvery == 0) maintain(provider)
      }
      checkSum()
      val loadOfOthers = Host.loadOfOthers()
      val heap = Host.settledHeapBytes() - baseline
      maintenanceBytes += footprint.look()
      RunResult(
        contender.name,
        workload.keys,
        spread(open),
        spread(getPut),
        spread(commit),
        spread(batch),
        if (maintenance.isEmpty) 0 else Median.of(maintenance.toSeq.map(_ / 1e6)),
        heap.toDouble,
        batchBytes.toDouble / (options.batches.toLong * options.updates),
        maintenanceBytes.toDouble / (options.batches.toLong * options.updates),
        (footprint.files - filesBefore).toDouble / options.batches,
        loadOfOthers,
        Option.when(counted)(batchCalls.perRound),
        Option.when(counted)(maintenanceCalls.perRound)
      )
    } finally provider.close()
  }

  private def counted: Boolean = options.fileAccess == FileAccess.Counted

  private def spread(nanos: ArrayBuffer[Long]): Spread = Spread.of(nanos.toSeq.drop(options.warmUp))

  private def createProvider(): StateStoreProvider = {
    val sqlConf = new SQLConf
    val own = contender.settings + (SQLConf.STATE_STORE_PROVIDER_CLASS.key -> contender.className)
    (own ++ options.settings).foreach { case (key, value) => sqlConf.setConfString(key, value) }
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
      Workload.keySchema,
      Workload.valueSchema,
      NoPrefixKeyStateEncoderSpec(Workload.keySchema),
      useColumnFamilies = false,
      new StateStoreConf(sqlConf),
      hadoopConf,
      useMultipleValuesPerKey = false,
      None
    )
  }

  /** In a dozen versions or more: past every provider's first snapshot, whatever the size. */
  private def preload(provider: StateStoreProvider): Unit = {
    val perVersion = math.min(200000, math.max(1, workload.keys / 12))
    var first = 0
    while (first < workload.keys) {
      val store = provider.getStore(version)
      val end = math.min(workload.keys, first + perVersion)
      while (first < end) {
        val n = math.min(workload.fillRange(first), end - first)
        for (i <- 0 until n) store.put(workload.keyAt(i), workload.valueAt(i))
        first += n
      }
      version = store.commit()
      Host.progress(s"$label: $first keys loaded")
    }
    provider.doMaintenance()
  }

  private def runBatch(provider: StateStoreProvider, number: Int): Unit = {
    workload.fillBatch(number)
    batchCalls.begin()
    val t0 = Host.nanos()
    val store = provider.getStore(version)
    val t1 = Host.nanos()
    update(store)
    val t2 = Host.nanos()
    version = store.commit()
    val t3 = Host.nanos()
    batchCalls.end()
    open += t1 - t0
    getPut += t2 - t1
    commit += t3 - t2
    batch += t3 - t0
    if ((number + 1) % 5 == 0) {
      val kind = if (number < options.warmUp) " (warm-up)" else ""
      Host.progress(
        f"$label: batch ${number + 1}/${options.batches}, ${(t3 - t0) / 1e6}%.1f ms$kind"
      )
    }
  }

  /** A counter per key, as an aggregation would keep it: what is read decides what is written. */
  private def update(store: StateStore): Unit = {
    var i = 0
    while (i < options.updates) {
      val key = workload.keyAt(i)
      val old = store.get(key)
      if (old == null) throw new IllegalStateException(s"$label lost key ${key.getLong(0)}")
      val count = old.getLong(0)
      sum += count
      val value = workload.valueAt(i)
      value.setLong(0, count + 1)
      store.put(key, value)
      i += 1
    }
  }

  private def maintain(provider: StateStoreProvider): Unit = {
    maintenanceCalls.begin()
    val start = Host.nanos()
    provider.doMaintenance()
    maintenance += Host.nanos() - start
    maintenanceCalls.end()
    maintenanceBytes += footprint.look()
  }

  private def checkSum(): Unit =
    if (sum != expectedSum) {
      throw new IllegalStateException(
        s"$label read counters that add up to $sum, not to $expectedSum: it lost or invented updates"
      )
    }

  private def label: String = s"${Keys.show(workload.keys)} ${contender.name}"
}
