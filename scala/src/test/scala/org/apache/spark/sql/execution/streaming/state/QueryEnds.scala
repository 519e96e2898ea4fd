package org.apache.spark.sql.execution.streaming.state

import java.util.UUID

import org.apache.spark.sql.streaming.StreamingQueryListener.QueryTerminatedEvent

/** What Spark tells its listeners of a query's end, whose constructor is private to Spark. */
object QueryEnds {
  def of(run: UUID): QueryTerminatedEvent =
    new QueryTerminatedEvent(UUID.randomUUID(), run, None, None)
}
