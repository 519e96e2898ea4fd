package org.apache.spark.sql.execution.streaming.state

import org.apache.spark.TaskContext

/**
 * The stores that a test of Spark 4.0 leaves open when it closes their provider. In a query the end of the task ends
 * them before, and closing waits for it.
 */
object OpenStores {

  /** Runs a test as a task, whose end it is for the stores that were opened. */
  def ended[T](body: => T): T = {
    val task = TaskContext.empty()
    TaskContext.setTaskContext(task)
    try body
    finally {
      task.markTaskCompleted(None)
      TaskContext.unset()
    }
  }
}
