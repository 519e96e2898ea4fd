package io.bucketstate.bench
package longrun

import java.nio.file.Path
import java.util.concurrent.{Executors, Future, TimeUnit}

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProvider}

import io.bucketstate.config.MetricKey

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
  private val processor = new ProcessorTime
  private val maintenance = Executors.newSingleThreadExecutor()
  private val samples = ArrayBuffer.empty[BatchSample]
  // After so many batches the folder is looked at. Two thirds of one or two batches are all of them.
  private val lookAfter = Seq((options.batches * 2L + 2) / 3, options.batches.toLong)
  private var version = 0L
  private var sum = 0L
  private var bytes = 0L

  def run(): LongRunResult =
    try {
      Host.loadOfOthers()
      val (folders, micros) = runBatches()
      val restarts = if (contender.isDurable) (1 to Restarts).map(_ => restart()) else Nil
      LongRunResult(
        contender.name,
        workload.keys,
        BatchTimes.of(samples.toSeq.drop(options.warmUp)),
        samples.toSeq,
        micros,
        bytes.toDouble / (options.batches.toLong * options.updates),
        folders,
        Option.when(restarts.nonEmpty)(
          RestartTimes(
            Median.of(restarts.map(_.firstGetMs)),
            Median.of(restarts.map(_.firstBatchMs))
          )
        ),
        Host.loadOfOthers()
      )
    } finally {
      maintenance.shutdownNow()
      ()
    }

  private def runBatches(): (Seq[FolderSize], ProcessorMicros) = {
    val provider = contender.provider(options, folder)
    try {
      version = driver.preload(provider)
      provider.doMaintenance()
      footprint.look()
      val folders = ArrayBuffer.empty[FolderSize]
      var maintaining: Future[_] = null
      for (number <- 0 until options.batches) {
        if (number == options.warmUp) processor.restart()
        processor.aside(workload.fillBatch(number))
        samples += runBatch(provider, number)
        bytes += processor.aside(footprint.look())
        if ((number + 1) % options.maintenanceEvery == 0) {
          if (maintaining != null) maintaining.get()
          maintaining = maintenance.submit((() => provider.doMaintenance()): Runnable)
        }
        val looks = lookAfter.count(_ == number + 1L)
        if (looks > 0) {
          if (maintaining != null) maintaining.get()
          folders ++= Seq.fill(looks)(processor.aside(footprint.current()))
        }
        if ((number + 1) % 20 == 0) {
          Host.progress(
            f"$label: batch ${number + 1}/${options.batches}, ${samples.last.ms}%.1f ms"
          )
        }
      }
      driver.checkSum(sum, expectedSum)
      val updates = (options.batches - options.warmUp).toLong * options.updates
      val micros = ProcessorMicros(
        processor.ofProcess / 1e3 / updates,
        processor.ofBackground() / 1e3 / updates
      )
      (folders.toSeq, micros)
    } finally {
      provider.close()
      bytes += footprint.look()
    }
  }

  private def runBatch(provider: StateStoreProvider, number: Int): BatchSample = {
    val background = processor.aside(processor.ofBackground())
    val collections = Host.collections()
    val t0 = Host.nanos()
    val store = provider.getStore(version)
    val t1 = Host.nanos()
    sum += driver.update(store)
    version = store.commit()
    val t2 = Host.nanos()
    val collected = Host.collections() - collections
    processor.aside {
      BatchSample(
        number,
        (t1 - t0) / 1e6,
        (t2 - t0) / 1e6,
        collected.count,
        collected.ms,
        (processor.ofBackground() - background) / 1e6,
        snapshotLag(store)
      )
    }
  }

  private def snapshotLag(store: StateStore): Option[Long] =
    store.metrics.customMetrics.collectFirst {
      case (metric, value) if metric.name == MetricKey.SnapshotLag.name => value
    }

  /** A new provider on the same folder, as after a restart with the files in the system's cache. */
  private def restart(): RestartTimes = {
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
      RestartTimes((got - start) / 1e6, (done - start) / 1e6)
    } finally provider.close()
  }

  private final val Restarts = 5
}
