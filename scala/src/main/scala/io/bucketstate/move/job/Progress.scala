package io.bucketstate.move.job

import org.apache.spark.SparkContext
import org.apache.spark.util.LongAccumulator

import io.bucketstate.error.UnavailableException
import io.bucketstate.move.write.Place.Moved

/**
 * How far a move has come, for people who wait: about so many keys and bytes. And whether they still wait: until it is about
 * to be committed a move can be given up. Thread-safe.
 */
private[move] final class Progress(context: SparkContext) {
  import Progress._

  val counts: Counts = new Counts(
    context.longAccumulator("keys read"),
    context.longAccumulator("keys written"),
    context.longAccumulator("keys checked"),
    context.longAccumulator("bytes written")
  )

  @volatile private[this] var currentStep = Planning

  /** What is being done, in a word or two. */
  def step: String = currentStep

  /** Throws `UnavailableException` where the move was given up. */
  def begin(step: String): Unit = {
    requireWanted()
    currentStep = step
  }

  private[this] var wish: Wish = Wanted

  /** The move begins, for the first time or once more. */
  def start(): Unit = synchronized {
    wish = Wanted
    currentStep = Planning
  }

  /** Gives the move up. Whether that was in time: once it is about to be committed it comes to its end. */
  def giveUp(): Boolean = synchronized {
    if (wish == Wanted) wish = GivenUp
    wish == GivenUp
  }

  /** Throws `UnavailableException` where the move was given up. */
  def requireWanted(): Unit = synchronized {
    if (wish == GivenUp) {
      throw new UnavailableException(
        "The move",
        "it was cancelled",
        "Nothing was published; the same move begins again."
      )
    }
  }

  /** From here on it cannot be given up. Throws `UnavailableException` where it was before. */
  def commit(): Unit = synchronized {
    requireWanted()
    wish = Committing
  }
}

private object Progress {
  private val Planning = "plan"

  private sealed trait Wish
  private case object Wanted extends Wish
  private case object GivenUp extends Wish
  private case object Committing extends Wish
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
