package io.bucketstate.bench
package providers

import java.nio.file.Path

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.execution.streaming.state._

/** One fresh provider in one fresh folder: preload, batches, heap, and the end. */
final class ProviderRun(
    contender: Contender,
    workload: Workload,
    expectedSum: Long,
    options: BenchOptions,
    folder: Path
) {
  private val footprint = new Footprint(folder)
  private val driver = new Driver(label, workload, options)
  private val open, getPut, commit, batch, maintenance = ArrayBuffer.empty[Long]
  private val batchCalls, maintenanceCalls = new CallTally
  private var version = 0L
  private var sum = 0L
  private var batchBytes, maintenanceBytes = 0L

  def run(): RunResult = {
    val baseline = Host.settledHeapBytes()
    Host.loadOfOthers()
    val provider = contender.provider(options, folder)
    try {
      preload(provider)
      footprint.look()
      val filesBefore = footprint.files
      for (number <- 0 until options.batches) {
        runBatch(provider, number)
        batchBytes += footprint.look()
        if ((number + 1) % options.maintenanceEvery == 0) maintain(provider)
      }
      driver.checkSum(sum, expectedSum)
      val loadOfOthers = Host.loadOfOthers()
      val resident = options.heap.flatMap(_ => Host.resident())
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
        resident,
        Option.when(counted)(batchCalls.perRound),
        Option.when(counted)(maintenanceCalls.perRound)
      )
    } finally provider.close()
  }

  private def counted: Boolean = options.fileAccess == FileAccess.Counted

  private def spread(nanos: ArrayBuffer[Long]): Spread = Spread.of(nanos.toSeq.drop(options.warmUp))

  private def preload(provider: StateStoreProvider): Unit = {
    version = driver.preload(provider)
    provider.doMaintenance()
  }

  private def runBatch(provider: StateStoreProvider, number: Int): Unit = {
    workload.fillBatch(number)
    batchCalls.begin()
    val t0 = Host.nanos()
    val store = provider.getStore(version)
    val t1 = Host.nanos()
    sum += driver.update(store)
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

  private def maintain(provider: StateStoreProvider): Unit = {
    maintenanceCalls.begin()
    val start = Host.nanos()
    provider.doMaintenance()
    maintenance += Host.nanos() - start
    maintenanceCalls.end()
    maintenanceBytes += footprint.look()
  }

  private lazy val label: String = s"${Keys.show(workload.keys)} ${contender.name}"
}
