package io.bucketstate.spark

import java.util.UUID

import org.apache.spark.SparkThrowable
import org.apache.spark.sql.execution.streaming.state.StateStoreId

import io.bucketstate.testkit.TidySuite

class SparkErrorsSuite extends TidySuite {
  private val id = StateStoreId(s"checkpoint-${UUID.randomUUID()}", 3, 7)

  test("memory that ran out is told as that, with the store and the setting") {
    val cause = new OutOfMemoryError("Java heap space")
    val error = SparkErrors.cannotLoad(id, cause)
    val condition = error.asInstanceOf[SparkThrowable].getCondition
    assert(condition == "CANNOT_LOAD_STATE_STORE.UNCATEGORIZED")
    val told = error.getCause
    assert(told.getMessage.contains(id.toString))
    assert(told.getMessage.contains("Java heap space"))
    assert(told.getMessage.contains("spark.sql.streaming.stateStore.bucketed.memory.maxBytes"))
    assert(told.getCause eq cause)
  }
}
