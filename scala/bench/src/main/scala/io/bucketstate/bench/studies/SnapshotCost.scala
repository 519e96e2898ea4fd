package io.bucketstate.bench
package studies

import java.lang.management.ManagementFactory
import java.nio.file.{Files, Path}
import java.util.UUID

import scala.util.Using

import com.sun.management.ThreadMXBean

import io.bucketstate.checkpoint.changelog.ChangelogReader
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, NioFileStore, WorkFolder => WorkFiles}
import io.bucketstate.checkpoint.manifest.{BucketCount, Checkpoint, Manifest, RepairRules}
import io.bucketstate.checkpoint.records.{BucketSource, KnownFamilies}
import io.bucketstate.checkpoint.recovery.Recovery
import io.bucketstate.checkpoint.run.read.RunAccess
import io.bucketstate.checkpoint.snapshot.{SnapshotReport, SnapshotTarget, Snapshotter}
import io.bucketstate.checkpoint.sst.SstOptions
import io.bucketstate.record.BucketAssigner
import io.bucketstate.store.MemorySource

/**
 * What a snapshot costs the thread that makes it, in processor time and allocation, with nothing
 * beside it: the three kinds, over and over. Times of one thread hardly depend on what else the machine
 * does, so two versions of the code can be compared on a busy one.
 */
object SnapshotCost {
  private val Interval = 10

  def main(args: Array[String]): Unit =
    Commands.run(args, BenchOptions(rounds = 8))(run)

  private def run(options: BenchOptions): Unit =
    Using.resource(WorkFolder.create(options.workDir)) { folder =>
      options.keyCounts.foreach { keys =>
        val checkpoint = folder.checkpoint(s"$keys-")
        val workload = new Workload(keys, options.updates, options.seed)
        val driver = new Driver(Keys.show(keys), workload, options)
        val provider = Contender.withoutSnapshots.provider(options, checkpoint)
        val preloaded = driver.preload(provider)
        (1 to Interval).foreach { batch =>
          workload.fillBatch(batch)
          val store = provider.getStore(preloaded + batch - 1)
          driver.update(store)
          store.commit()
        }
        provider.close()
        val bench = new SnapshotCost(checkpoint.resolve("0").resolve("0"), preloaded, options)
        val rows = bench.measure(preloaded + Interval)
        Host.say(
          "\n" + TextTable(
            s"${Keys.show(keys)} keys, $Interval batches of ${options.updates}; medians of " +
              s"${options.rounds}: of the thread's processor time, allocation, the run's bytes",
            Seq("kind", "cpu ms", "MiB allocated", "MiB written"),
            rows
          ).render
        )
      }
    }
}

private final class SnapshotCost(folder: Path, preloaded: Long, options: BenchOptions) {
  private val store = new NioFileStore(folder)
  private val numBuckets =
    Using.resource(ChangelogReader.open(store, Attempt(preloaded)))(_.header.numBuckets)
  private val assigner = new BucketAssigner(numBuckets)
  private val descriptor =
    Using.resource(ChangelogReader.open(store, Attempt(preloaded)))(_.families.head.descriptor)
  private val families = new KnownFamilies(descriptor, others = false)
  private val threads = ManagementFactory.getThreadMXBean.asInstanceOf[ThreadMXBean]

  def measure(version: Long): Seq[Seq[String]] =
    withRuns { runs =>
      val base = snapshotter(runs, 8).take(SnapshotTarget(Attempt(preloaded), None)).manifest
      val table = recovery(runs).load(version, None).table
      (0 until numBuckets).foreach(bucket => table.families.foreach(_.load(bucket)))
      val memory = Some(new MemorySource(table.familiesAt(version), version))
      Seq(
        row("append", base, 8, doubtsFiles = false, target(version, None), runs),
        row("rewrite, memory", base, 8, doubtsFiles = true, target(version, memory), runs),
        row("rewrite, files", base, 1, doubtsFiles = false, target(version, None), runs)
      )
    }

  private def target(version: Long, memory: Option[BucketSource]) =
    SnapshotTarget(Attempt(version), None, memory)

  private def row(
      kind: String,
      base: Manifest,
      maxRuns: Int,
      doubtsFiles: Boolean,
      target: SnapshotTarget,
      runs: RunAccess
  ): Seq[String] = {
    val samples = Seq
      .fill(options.rounds + 2) {
        val made = snapshotter(runs, maxRuns)
        made.startFrom(Some(base), doubtsFiles)
        val id = Thread.currentThread.getId
        val (cpu, bytes) = (threads.getThreadCpuTime(id), threads.getThreadAllocatedBytes(id))
        val report = made.take(target)
        val costs =
          (threads.getThreadCpuTime(id) - cpu, threads.getThreadAllocatedBytes(id) - bytes)
        undo(report, base)
        Host.progress(f"$kind: ${costs._1 / 1e6}%.0f ms")
        (costs._1 / 1e6, costs._2 / 1048576.0, report.written / 1048576.0)
      }
      .drop(2)
    val columns = Seq(samples.map(_._1), samples.map(_._2), samples.map(_._3)).map(Median.of)
    kind +: columns.map(n => f"$n%.0f")
  }

  private def undo(report: SnapshotReport, base: Manifest): Unit = {
    store.delete(report.manifest.file.name)
    (report.manifest.fileNames -- base.fileNames).foreach(store.delete)
  }

  private def snapshotter(runs: RunAccess, maxRuns: Int) =
    new Snapshotter(checkpointOf(runs), "bench", _ => None, maxRuns, Long.MaxValue)

  private def recovery(runs: RunAccess) =
    new Recovery(checkpointOf(runs), RepairRules(false, 0, 0))

  private def checkpointOf(runs: RunAccess) =
    new Checkpoint(store, BucketCount.of(assigner, store), families, runs)

  private def withRuns[A](body: RunAccess => A): A = {
    def work =
      WorkFiles(Files.createDirectory(folder.resolve(UUID.randomUUID().toString)), temporary = true)
    val options = SstOptions(BlockCodec.Lz4, blockBytes = 4 * 1024) // as by default
    Using.resource(new RunAccess(store, options, () => work, 64L << 20))(body)
  }
}
