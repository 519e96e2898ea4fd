package io.bucketstate.move.job

import org.apache.spark.SparkContext
import org.apache.spark.util.LongAccumulator

import io.bucketstate.move.write.Place.Moved

/** How far a move has come, for people who wait: about so many keys and bytes. Thread-safe. */
private[move] final class Progress(context: SparkContext) {
  val counts: Counts = new Counts(
    context.longAccumulator("keys read"),
    context.longAccumulator("keys written"),
    context.longAccumulator("keys checked"),
    context.longAccumulator("bytes written")
  )

  @volatile private[this] var currentStep = "plan"

  /** What is being done, in a word or two. */
  def step: String = currentStep

  def begin(step: String): Unit = currentStep = step
}

/** Counts that tasks add to. A task that is tried again counts twice: nothing is decided by them. */
private[move] final class Counts(
    val read: LongAccumulator,
    val written: LongAccumulator,
    val checked: LongAccumulator,
    val bytes: LongAccumulator
) extends Serializable {
  def reading(rows: Iterator[Moved]): Iterator[Moved] = rows.map { row =>
    read.add(1L)
    row
  }

  def writing(rows: Iterator[Moved]): Iterator[Moved] = rows.map { row =>
    written.add(1L)
    bytes.add((row._1.length + row._2.length).toLong)
    row
  }

  def check(): Unit = checked.add(1L)
}
