package io.bucketstate.bench

import java.nio.file.Path
import java.util.concurrent.{Executors, Future, TimeUnit}

import scala.collection.mutable.ArrayBuffer

/**
 * What one provider showed in a long run with snapshots, and at the restart after it.
 *
 * @param open           the part of a batch that snapshots are captured in
 * @param bytesPerUpdate all that was written to the checkpoint, snapshots and their compaction included
 * @param folders        bytes and files in the folder after two thirds and after all of the batches
 * @param firstGetMs     from asking a new provider for the version until one value was read
 * @param firstBatchMs   from the same moment until the first batch was committed
 */
final case class LongRunResult(
    provider: String,
    keys: Int,
    open: Spread,
    batch: Spread,
    bytesPerUpdate: Double,
    folders: Seq[(Long, Int)],
    firstGetMs: Double,
    firstBatchMs: Double,
    loadOfOthers: Double
)

/** One provider: preload, batches with maintenance beside them as in Spark, restarts. */
final class LongRun(
    contender: Contender,
    workload: Workload,
    expectedSum: Long,
    options: BenchOptions,
    folder: Path
) {
  private val label = s"${Keys.show(workload.keys)} ${contender.name}"
  private val driver = new Driver(label, workload, options)
  private val footprint = new Footprint(folder)
  private val maintenance = Executors.newSingleThreadExecutor()
  private val open, batch = ArrayBuffer.empty[Long]
  private var version = 0L
  private var sum = 0L
  private var bytes = 0L

  def run(): LongRunResult =
    try {
      Host.loadOfOthers()
      val folders = runBatches()
      val restarts = (1 to Restarts).map(_ => restart())
      LongRunResult(
        contender.name,
        workload.keys,
        Spread.of(open.toSeq.drop(options.warmUp)),
        Spread.of(batch.toSeq.drop(options.warmUp)),
        bytes.toDouble / (options.batches.toLong * options.updates),
        folders,
        Median.of(restarts.map(_._1)),
        Median.of(restarts.map(_._2)),
        Host.loadOfOthers()
      )
    } finally {
      maintenance.shutdownNow()
      ()
    }

  private def runBatches(): Seq[(Long, Int)] = {
    val provider = contender.provider(options, folder)
    try {
      version = driver.preload(provider)
      provider.doMaintenance()
      footprint.look()
      val folders = ArrayBuffer.empty[(Long, Int)]
      var maintaining: Future[_] = null
      for (number <- 0 until options.batches) {
        workload.fillBatch(number)
        val t0 = Host.nanos()
        val store = provider.getStore(version)
        val t1 = Host.nanos()
        sum += driver.update(store)
        version = store.commit()
        val t2 = Host.nanos()
        open += t1 - t0
        batch += t2 - t0
        bytes += footprint.look()
        if ((number + 1) % options.maintenanceEvery == 0) {
          if (maintaining != null) maintaining.get()
          maintaining = maintenance.submit((() => provider.doMaintenance()): Runnable)
        }
        if ((number + 1) * 3 == options.batches * 2 || number + 1 == options.batches) {
          if (maintaining != null) maintaining.get()
          folders += footprint.now()
        }
        if ((number + 1) % 20 == 0) {
          Host.progress(
            f"$label: batch ${number + 1}/${options.batches}, ${(t2 - t0) / 1e6}%.1f ms"
          )
        }
      }
      driver.checkSum(sum, expectedSum)
      folders.toSeq
    } finally {
      provider.close()
      bytes += footprint.look()
    }
  }

  /** A new provider on the same folder, as after a restart with the files in the system's cache. */
  private def restart(): (Double, Double) = {
    val provider = contender.provider(options, folder)
    try {
      workload.fillBatch(0)
      val start = Host.nanos()
      val store = provider.getStore(version)
      if (store.get(workload.keyAt(0)) == null)
        throw new IllegalStateException(s"$label lost a key")
      val got = Host.nanos()
      driver.update(store)
      version = store.commit()
      val done = Host.nanos()
      Host.progress(f"$label: restarted, first get ${(got - start) / 1e6}%.1f ms")
      TimeUnit.SECONDS.sleep(1) // background work ends, as it would before the next restart
      ((got - start) / 1e6, (done - start) / 1e6)
    } finally provider.close()
  }

  private final val Restarts = 5
}
