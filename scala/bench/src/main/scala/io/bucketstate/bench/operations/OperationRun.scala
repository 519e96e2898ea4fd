package io.bucketstate.bench
package operations

import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.execution.streaming.state._

/** How fast a provider does one thing. */
final case class OperationResult(
    provider: String,
    keys: Int,
    operation: String,
    perSecond: Double,
    loadOfOthers: Double
)

/**
 * Single operations on a committed state: each is done in a store of its own, which is then aborted, so
 * that the next one finds the same state. Only the operation itself is timed.
 */
final class OperationRun(
    contender: Contender,
    keys: Int,
    options: BenchOptions,
    folder: WorkFolder
) {
  import OperationRun._

  private val rows = new OperationRows(keys, options.seed)

  def run(): Seq[OperationResult] =
    withState(NoPrefixKeyStateEncoderSpec(Workload.keySchema))(points) ++
      withState(PrefixKeyScanStateEncoderSpec(Workload.keySchema, 1))(prefixes) ++
      // HDFSBackedStateStoreProvider has no order to scan by.
      (if (contender == Contender.hdfs) Nil
       else withState(RangeKeyScanStateEncoderSpec(Workload.keySchema, Seq(0)))(ranges))

  private def points(state: State): Seq[OperationResult] = {
    val some = rows.sample(options.updates, keys).map(rows.key)
    val value = rows.value(0)
    val evictions = Seq(0, 10, 100).map { percent =>
      evicted(state, s"evict $percent %", percent, _.key)
    } :+ evicted(state, "evict 0 %, by value", 0, _.value)
    Seq(
      state.measured("get", some.length)(store => some.foreach(store.get(_))),
      state.measured("put", some.length)(store => some.foreach(store.put(_, value))),
      state.measured("remove", some.length)(store => some.foreach(store.remove(_)))
    ) ++ evictions
  }

  /** As a watermark does it: by a column of the key (windows), or of the value (sessions, timeouts). */
  private def evicted(
      state: State,
      name: String,
      percent: Int,
      row: UnsafeRowPair => UnsafeRow
  ): OperationResult = {
    val limit = rows.groups.toLong * percent / 100
    val expected = limit * OperationRows.PerGroup
    state.measured(name, keys)(StoreWork.evict(_, expected)(pair => row(pair).getLong(0) < limit))
  }

  private def prefixes(state: State): Seq[OperationResult] = {
    val some = rows.sample(options.updates, rows.groups).map(rows.prefix)
    Seq(state.measured(s"prefix scan of ${OperationRows.PerGroup}", some.length) { store =>
      some.foreach(prefix => require(drained(store.prefixScan(prefix)) == OperationRows.PerGroup))
    })
  }

  private def ranges(state: State): Seq[OperationResult] = {
    val starts = rows.sample(options.updates, rows.groups - Span)
    val some = starts.map(g => (Some(rows.bound(g)), Some(rows.bound(g + Span))))
    val expected = Span * OperationRows.PerGroup
    val none = Some(rows.bound(rows.groups + 1))
    Seq(
      state.measured(s"range scan of $expected", some.length) { store =>
        some.foreach { case (from, until) =>
          require(drained(store.rangeScan(from, until)) == expected)
        }
      },
      state.measured("range scan of nothing", some.length) { store =>
        some.foreach(_ => require(drained(store.rangeScan(none, None)) == 0))
      }
    )
  }

  private def drained(scan: StateStoreIterator[UnsafeRowPair]): Int = {
    var n = 0
    while (scan.hasNext) {
      require(scan.next().value != null)
      n += 1
    }
    scan.close()
    n
  }

  private def withState(
      spec: KeyStateEncoderSpec
  )(measure: State => Seq[OperationResult]): Seq[OperationResult] = {
    val checkpoint = folder.checkpoint(s"$keys-${contender.name}-")
    val provider = contender.provider(options, checkpoint, StoreSchema.of(spec))
    try {
      // As states come to be: batch by batch.
      (0 until Batches).foreach { version =>
        val store = provider.getStore(version.toLong)
        val from = (keys.toLong * version / Batches).toInt
        val until = (keys.toLong * (version + 1) / Batches).toInt
        (from until until).foreach(i => store.put(rows.key(i), rows.value(i)))
        store.commit()
      }
      measure(new State(provider))
    } finally {
      provider.close()
      folder.delete(checkpoint)
    }
  }

  private final class State(provider: StateStoreProvider) {

    /** @param count how often `work` does what is named */
    def measured(operation: String, count: Int)(work: StateStore => Unit): OperationResult = {
      Host.loadOfOthers()
      val rounds = Seq.fill(WarmUps + options.rounds) {
        StoreWork.seconds(provider, Batches.toLong)(work)
      }
      val seconds = Median.of(rounds.drop(WarmUps))
      val result = OperationResult(
        contender.name,
        keys,
        operation,
        count / seconds,
        Host.loadOfOthers()
      )
      Host.progress(f"${contender.name}: $operation, ${result.perSecond}%,.0f per second")
      result
    }
  }
}

private object OperationRun {
  final val Span = 10
  final val Batches = 20
  final val WarmUps = 6
}
