package io.bucketstate.move.read

import org.apache.spark.sql.catalyst.expressions.UnsafeRow

/** A key with all that it has. The rows are good until the next one; the values can be taken once. */
private[bucketstate] final class StateRow(
    val family: SourceFamily,
    val key: UnsafeRow,
    val values: Iterator[UnsafeRow]
)

/**
 * All rows of one partition of a store, at one version: each key of a family once, with its values in their order. To read
 * them writes nothing into the checkpoint. To be closed. For one thread.
 */
private[bucketstate] trait StateRows extends Iterator[StateRow] with AutoCloseable
