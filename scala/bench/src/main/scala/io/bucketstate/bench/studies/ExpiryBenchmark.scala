package io.bucketstate.bench
package studies

import java.nio.file.Path

import scala.util.Using

import org.apache.spark.sql.execution.streaming.state.{NoPrefixKeyStateEncoderSpec, StateStore}
import org.apache.spark.sql.types.{BinaryType, StructType, TimestampType}

import io.bucketstate.config.ConfigKey

/**
 * What it costs that state ages out: every batch puts in a twelfth of all keys, and as many have become too old. Beside it
 * a store with as many keys in which each batch writes those again that are oldest, and one whose user removes them by a
 * scan, as Spark's operators do behind a watermark.
 */
object ExpiryBenchmark {
  private val Span = 10L // seconds, and a batch's times
  private val Spans = 10

  /** Batches whose keys are there: the horizon of a batch is that of the times before it, and moves by whole spans. */
  private val There = Spans + 2

  def main(args: Array[String]): Unit =
    Commands.run(
      args,
      BenchOptions(contenders = Seq(Contender.bucketed), batches = 60, rounds = 3)
    )(run)

  private def run(options: BenchOptions): Unit = {
    val results = Using.resource(WorkFolder.create(options.workDir)) { folder =>
      Host.progress("warming up the JVM, not counted")
      ways.foreach(measure(_, 60000, 40, options, folder))
      for {
        keys <- options.keyCounts
        round <- 1 to options.rounds
        way <- if (round % 2 == 0) ways.reverse else ways
      } yield measure(way, keys, options.batches, options, folder)
    }
    Host.say("\n" + render(results))
    JsonReport.write(results, Nil, options)
  }

  /** What becomes of old keys. */
  private final case class Way(name: String, settings: Map[String, String])

  private val expires = Way(
    "expires",
    Map(
      ConfigKey.TimeBucketColumn.key -> "at",
      ConfigKey.TimeBucketSpan.key -> s"${Span}s",
      ConfigKey.TimeBucketExpireAfter.key -> s"${Span * Spans}s"
    )
  )
  private val scanned = Way("is removed by a scan", Map.empty)
  private val rewritten = Way("is written again", Map.empty)
  private val ways = Seq(expires, rewritten, scanned)

  private val schema = StoreSchema(
    Workload.keySchema,
    new StructType().add("at", TimestampType).add("payload", BinaryType),
    NoPrefixKeyStateEncoderSpec(Workload.keySchema)
  )

  private def measure(
      way: Way,
      keys: Int,
      batches: Int,
      options: BenchOptions,
      folder: WorkFolder
  ): ExpiryResult = {
    val checkpoint = folder.checkpoint(s"$keys-")
    try new Run(way, keys, batches, options, checkpoint).result()
    finally folder.delete(checkpoint)
  }

  private final class Run(
      way: Way,
      keys: Int,
      batches: Int,
      options: BenchOptions,
      folder: Path
  ) {
    private val perBatch = keys / There
    private val workload = new Workload(Int.MaxValue, perBatch, options.seed)
    private val footprint = new Footprint(folder)

    def result(): ExpiryResult = {
      val contender = options.contenders.head
      val provider = contender
        .copy(settings = contender.settings ++ way.settings)
        .provider(options, folder, schema)
      try {
        val samples = (0 until batches).map { batch =>
          workload.fillRange((if (way == rewritten) batch % There else batch) * perBatch)
          val start = Host.nanos()
          val store = provider.getStore(batch.toLong)
          write(store, batch)
          if (way == scanned) remove(store, batch)
          store.commit()
          val ms = (Host.nanos() - start) / 1e6
          if ((batch + 1) % options.maintenanceEvery == 0) provider.doMaintenance()
          Sample(
            ms,
            store.metrics.numKeys,
            store.metrics.memoryUsedBytes,
            footprint.current().bytes
          )
        }
        Host.progress(
          f"state that ${way.name}: ${samples.last.keys} keys, ${samples.last.ms}%.0f ms"
        )
        val measured = samples.drop(2 * There)
        ExpiryResult(
          way.name,
          keys,
          Median.of(measured.map(_.ms)),
          measured.last.keys,
          samples(batches / 2).folder,
          samples.last.folder,
          samples.last.memory
        )
      } finally provider.close()
    }

    private def write(store: StateStore, batch: Int): Unit = {
      val micros = batch * Span * 1000000L
      var i = 0
      while (i < perBatch) {
        val key = workload.keyAt(i)
        if ((store.get(key) != null) != (way == rewritten && batch >= There))
          throw new IllegalStateException("a key was there, or was not")
        val value = workload.valueAt(i)
        value.setLong(0, micros)
        store.put(key, value)
        i += 1
      }
    }

    private def remove(store: StateStore, batch: Int): Unit = {
      val old = (batch - There) * Span * 1000000L
      if (batch >= There) StoreWork.evict(store, perBatch.toLong)(_.value.getLong(0) <= old)
    }
  }

  private final case class Sample(ms: Double, keys: Long, memory: Long, folder: Long)

  private def render(results: Seq[ExpiryResult]): String = {
    val rows =
      results.groupBy(r => (r.keys, r.way)).toSeq.sortBy(_._1).map { case ((keys, way), all) =>
        val staying = results.filter(r => r.keys == keys && r.way == rewritten.name).map(_.batchMs)
        val ms = Median.of(all.map(_.batchMs))
        Seq(
          Keys.show(keys),
          way,
          f"$ms%.1f",
          f"${all.map(_.batchMs).min}%.1f",
          f"${ms / Median.of(staying)}%.3f",
          f"${all.last.folderHalfWay / 1e6}%.1f",
          f"${all.last.folderAtEnd / 1e6}%.1f",
          f"${all.last.memory / 1e6}%.1f"
        )
      }
    TextTable(
      s"A ${There}th of all keys grows old with each batch",
      Seq(
        "keys",
        "old state",
        "batch p50 ms",
        "of the best round",
        "p50 / that of state written again",
        "folder half-way, MB",
        "at the end, MB",
        "memory, MB"
      ),
      rows
    ).render
  }
}

/**
 * One run.
 *
 * @param way     what becomes of old keys
 * @param batchMs median of its batches after each key grew old once
 * @param there   keys at the end
 */
final case class ExpiryResult(
    way: String,
    keys: Int,
    batchMs: Double,
    there: Long,
    folderHalfWay: Long,
    folderAtEnd: Long,
    memory: Long
)
