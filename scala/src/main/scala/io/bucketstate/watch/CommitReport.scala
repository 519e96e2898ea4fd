package io.bucketstate.watch

import io.bucketstate.config.MetricKey

/**
 * What one store tells of one commit. Immutable.
 *
 * @param version     that was committed
 * @param commitNanos how long the commit took
 * @param keys        of the state at that version
 * @param memoryBytes what the state takes in memory, an estimate
 * @param values      the project's own metrics; one that is not given is 0
 */
final case class CommitReport(
    version: Long,
    commitNanos: Long,
    keys: Long,
    memoryBytes: Long,
    values: Map[MetricKey, Long]
)
