package io.bucketstate.testkit

import java.io.ObjectInputStream
import java.util.concurrent.CountDownLatch

import org.apache.spark.TaskContext

/**
 * Holds up one task while it makes its stage out of bytes, which is before it opens stores, however often it is killed
 * meanwhile: so late may come a task whose query has ended, whose interrupt somebody else has swallowed.
 */
final class LateTask private {
  private[this] var isTaken = false
  private[this] val held = new CountDownLatch(1)
  private[this] val released = new CountDownLatch(1)
  private[this] val ended = new CountDownLatch(1)

  def awaitHeld(): Unit = held.await()
  def letGo(): Unit = released.countDown()
  def awaitEnd(): Unit = ended.await()

  private def pass(task: TaskContext): Unit = {
    val isIt = synchronized {
      val isFirst = !isTaken
      isTaken = true
      isFirst
    }
    if (isIt) {
      task.addTaskCompletionListener[Unit]((_: TaskContext) => ended.countDown())
      held.countDown()
      Hanging.await(released)
    }
  }
}

/** One at a time. */
object LateTask {
  @volatile private var next = Option.empty[LateTask]

  /** The next task of a stage with a [[Gate]]. */
  def holdNext(): LateTask = {
    val task = new LateTask
    next = Some(task)
    task
  }

  /** Changes nothing of the rows. */
  final class Gate[A] extends (A => A) with Serializable {
    override def apply(row: A): A = row

    private def readObject(in: ObjectInputStream): Unit = {
      in.defaultReadObject()
      for {
        task <- Option(TaskContext.get())
        late <- next
      } late.pass(task)
    }
  }
}
