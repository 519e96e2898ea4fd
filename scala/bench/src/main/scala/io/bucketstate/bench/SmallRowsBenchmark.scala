package io.bucketstate.bench

import scala.util.Using

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state.{StateStore, StateStoreProvider}

/**
 * The cases of Spark's own `StateStoreBasicOperationsBenchmark` (small rows, put, merge, delete and evict
 * at several rates), which knows Spark's two providers only. Here the providers take turns within each
 * round, so that what else the machine does meets all of them.
 */
object SmallRowsBenchmark {
  private val Rates = Seq(100, 50, 10, 0)
  private val ValuesPerKey = 10

  def main(args: Array[String]): Unit = {
    val all = Seq(Contender.hdfs, Contender.rocksdb, Contender.bucketed)
    val defaults = BenchOptions(keyCounts = Seq(10000), contenders = all, rounds = 100)
    Commands.run(args, defaults)(run)
  }

  private def run(options: BenchOptions): Unit = {
    val results = options.keyCounts.flatMap { keys =>
      val rows = new SmallRows(options.seed)
      val data = rows.keys(keys)
      val others = rows.keys(keys)
      withStores(options, data, rows, multiValued = false) { stores =>
        Rates.flatMap { rate =>
          val known = rows.mix(rate, data, others)
          val value = rows.value()
          stores.measured(s"put, $rate % there before")(s => known.foreach(s.put(_, value)))
        } ++ Rates.flatMap { rate =>
          val unknown = rows.mix(rate, others, data)
          stores.measured(s"delete, $rate % not there")(s => unknown.foreach(s.remove(_)))
        } ++ Rates.flatMap { rate =>
          stores.measured(s"evict $rate %")(evict(_, keys, rate))
        }
      } ++ withStores(options, data, rows, multiValued = true) { stores =>
        Rates.flatMap { rate =>
          val known = rows.mix(rate, data, others)
          val values = Seq.fill(ValuesPerKey)(rows.value())
          stores.measured(s"merge of $ValuesPerKey, $rate % there before") { s =>
            known.foreach(key => values.foreach(s.merge(key, _)))
          }
        }
      }
    }
    val outcomes = options.keyCounts.flatMap(keys => targets(keys, results.filter(_.keys == keys)))
    val tables = options.keyCounts.map(keys => OperationReport.table(keys, results, options))
    Host.say((("" +: tables) ++ Report.targetTable(outcomes)).mkString("\n\n"))
    options.json.foreach { file =>
      JsonReport.write(results, outcomes, options, file)
      Host.say(s"\nWritten: $file")
    }
  }

  private def targets(keys: Int, results: Seq[OperationResult]): Seq[TargetOutcome] = {
    val names = results.map(_.operation).distinct
    val points = names.filter(n => n.startsWith("put") || n.startsWith("delete"))
    val wanted = ("evict 0 %", Contender.rocksdb, 0.2) +: ("evict 0 %", Contender.hdfs, 1.0) +:
      points.map((_, Contender.hdfs, 1.0))
    OperationReport.targets(keys, results, wanted)
  }

  /** By the timestamp in the key, as a watermark does it. */
  private def evict(store: StateStore, keys: Int, percent: Int): Unit = {
    val limit = keys.toLong * percent / 100
    var removed = 0L
    val all = store.iterator()
    while (all.hasNext) {
      val pair = all.next()
      if (pair.key.getLong(1) < limit * 1000) {
        store.remove(pair.key)
        removed += 1
      }
    }
    require(removed == limit, s"$removed of $keys keys were removed instead of $limit")
  }

  private def withStores(
      options: BenchOptions,
      data: IndexedSeq[UnsafeRow],
      rows: SmallRows,
      multiValued: Boolean
  )(body: Stores => Seq[OperationResult]): Seq[OperationResult] =
    Using.resource(WorkFolder.create(options.workDir)) { folder =>
      // HDFSBackedStateStoreProvider has no column families.
      val able = options.contenders.filterNot(multiValued && _ == Contender.hdfs)
      val providers = able.map { contender =>
        val checkpoint = folder.checkpoint(s"${contender.name}-")
        contender -> contender.provider(options, checkpoint, SmallRows.schema(multiValued))
      }
      try {
        providers.foreach { case (_, provider) =>
          val store = provider.getStore(0)
          data.foreach(key =>
            if (multiValued) store.merge(key, rows.value()) else store.put(key, rows.value())
          )
          store.commit()
        }
        body(new Stores(providers, data.size, options))
      } finally providers.foreach(_._2.close())
    }

  private final class Stores(
      providers: Seq[(Contender, StateStoreProvider)],
      keys: Int,
      options: BenchOptions
  ) {

    /** Does it to every provider in turn, in stores that are then aborted. */
    def measured(operation: String)(work: StateStore => Unit): Seq[OperationResult] = {
      Host.loadOfOthers()
      val rounds = Seq.fill(options.rounds + options.rounds / 4)(providers.map { case (_, p) =>
        once(p, work)
      })
      val seconds = rounds.drop(options.rounds / 4).transpose.map(Median.of)
      val load = Host.loadOfOthers()
      Host.progress(operation)
      providers.zip(seconds).map { case ((contender, _), s) =>
        OperationResult(contender.name, keys, operation, keys / s, load)
      }
    }

    private def once(provider: StateStoreProvider, work: StateStore => Unit): Double = {
      val store = provider.getStore(1)
      val start = Host.nanos()
      work(store)
      val seconds = (Host.nanos() - start) / 1e9
      store.abort()
      seconds
    }
  }
}
