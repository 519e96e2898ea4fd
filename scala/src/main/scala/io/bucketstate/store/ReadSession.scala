package io.bucketstate.store

import java.util.UUID

import io.bucketstate.table.StateTable

/**
 * A version opened for reading: until `end` it stays in `table` as it is, whatever is written meanwhile.
 *
 * @param commitId which commit of the version it is; None for the empty store
 * @param onEnd    gives the version up
 */
private[bucketstate] final class ReadSession(
    val table: StateTable,
    val version: Long,
    val commitId: Option[UUID],
    onEnd: () => Unit
) {

  /** To be called once. */
  def end(): Unit = onEnd()
}
