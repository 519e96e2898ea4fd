package io.bucketstate.spark.many

import scala.collection.mutable

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.python.ManyKeysRunner
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/**
 * The way of one task's calls to Python and of their answers back, in the task's own thread. Not thread-safe.
 *
 * @param more   how many fields calls have beside those of every kind
 * @param answer what comes back
 * @param begun  told of each call
 * @param output makes a row of output
 */
private[many] final class Calling(
    runner: ManyKeysRunner,
    clocks: Clocks,
    more: Int,
    limits: Limits,
    answer: StructType,
    begun: () => Unit,
    output: InternalRow => InternalRow
) {

  /** The output of these calls. Starts no Python worker where there is none. */
  def answered(calls: Iterator[Call]): Iterator[InternalRow] =
    if (calls.hasNext) run(calls) else Iterator.empty

  private def run(calls: Iterator[Call]): Iterator[InternalRow] = {
    val waiting = new mutable.ArrayDeque[(Answer, Int) => Unit]()
    val batches = new CallBatches(
      calls,
      clocks,
      more,
      limits.rows,
      limits.bytes,
      call => {
        waiting.append(call.settle)
        begun()
      }
    )
    val context = TaskContext.get()
    val answers = runner.started().compute(batches, context.partitionId(), context)
    answers.flatMap(settled(_, waiting)) ++ settledAll(waiting)
  }

  /** Takes over the states of an answer, and gives its rows. */
  private def settled(
      batch: ColumnarBatch,
      waiting: mutable.ArrayDeque[(Answer, Int) => Unit]
  ): Iterator[InternalRow] = {
    val found = new Answer(batch, answer)
    (0 until found.lines).foreach { line =>
      if (found.settles(line)) {
        if (waiting.isEmpty) throw ManyKeysErrors.moreThanCalled()
        waiting.removeHead()(found, line)
      }
    }
    (0 until found.lines).iterator.filter(found.hasRow).map(line => output(found.row(line)))
  }

  /** Nothing; asked when all answers were taken. */
  private def settledAll(
      waiting: mutable.ArrayDeque[(Answer, Int) => Unit]
  ): Iterator[InternalRow] = {
    if (waiting.nonEmpty) throw ManyKeysErrors.fewerThanCalled(waiting.length)
    Iterator.empty
  }
}

/** How large a batch of Arrow may be. */
private[many] final case class Limits(rows: Int, bytes: Long)

private[many] object Limits {
  def of(conf: SQLConf): Limits = Limits(
    if (conf.arrowMaxRecordsPerBatch > 0) conf.arrowMaxRecordsPerBatch else Int.MaxValue,
    conf.arrowMaxBytesPerBatch
  )
}
