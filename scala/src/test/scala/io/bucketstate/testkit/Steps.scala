package io.bucketstate.testkit

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger

import scala.jdk.CollectionConverters._

/** What goes wrong at a step. */
sealed abstract class StepFault(val name: String) {
  def happen(what: String): Unit
}

object StepFault {

  /** Another thread interrupts the one that is there; whatever waits next finds out. */
  case object Interrupt extends StepFault("is interrupted") {
    override def happen(what: String): Unit = Thread.currentThread().interrupt()
  }

  case object Interrupted extends StepFault("throws InterruptedException") {
    override def happen(what: String): Unit = throw new InterruptedException(what)
  }

  case object Unexpected extends StepFault("throws a RuntimeException") {
    override def happen(what: String): Unit = throw new IllegalStateException(
      s"made to fail: $what"
    )
  }

  case object Fatal extends StepFault("throws an Error") {
    override def happen(what: String): Unit = throw new StepError(what)
  }

  case object NoMemory extends StepFault("runs out of memory") {
    override def happen(what: String): Unit = throw new OutOfMemoryError(s"made to fail: $what")
  }

  val all: Seq[StepFault] = Seq(Interrupt, Interrupted, Unexpected, Fatal, NoMemory)

  final class StepError(what: String) extends Error(s"made to fail: $what")
}

/**
 * Numbers the calls that a store makes of all that it stands on, from 1 on: of its files, its host, its clock and its ids.
 * At most one of them goes wrong. Thread-safe.
 */
final class Steps(fault: Option[(Int, StepFault)]) {
  private val counter = new AtomicInteger
  private val names = new ConcurrentLinkedQueue[String]
  @volatile private var healed = false

  /** To be called at each. */
  def at(what: String): Unit = if (!healed) {
    val number = counter.incrementAndGet()
    names.add(what)
    fault.filter(_._1 == number).foreach(_._2.happen(what))
  }

  /** From now on nothing goes wrong, nor is it counted. */
  def heal(): Unit = healed = true

  def count: Int = counter.get

  /** What they were, in order. */
  def all: Seq[String] = names.asScala.toSeq
}
