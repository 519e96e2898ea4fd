package io.bucketstate.bench
package operations

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
          // By the timestamp in the key.
          val limit = keys.toLong * rate / 100
          stores.measured(s"evict $rate %")(
            StoreWork.evict(_, limit)(_.key.getLong(1) < limit * 1000)
          )
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
    OperationReport.publish(results, wanted(results), options)
  }

  private def wanted(results: Seq[OperationResult]): Seq[OperationTarget] = {
    val names = results.map(_.operation).distinct
    val points = names.filter(n => n.startsWith("put") || n.startsWith("delete"))
    OperationTarget("evict 0 %", Contender.rocksdb, 0.2) +:
      ("evict 0 %" +: points).map(OperationTarget(_, Contender.hdfs, 1.0))
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
        StoreWork.seconds(p, version = 1)(work)
      })
      val seconds = rounds.drop(options.rounds / 4).transpose.map(Median.of)
      val load = Host.loadOfOthers()
      Host.progress(operation)
      providers.zip(seconds).map { case ((contender, _), s) =>
        OperationResult(contender.name, keys, operation, keys / s, load)
      }
    }
  }
}
