package io.bucketstate.store

import java.util.UUID

import io.bucketstate.error.ConflictException
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

  /**
   * With checkpoint format 1 a task may read an attempt at its version from memory and write on top of
   * another one: when the provider was unloaded in between, or memory was dropped because of a conflict.
   *
   * @param written what the same task writes on top of
   * @param store   its name
   */
  def requireSameCommit(written: Option[UUID], store: String): Unit =
    if (commitId != written) {
      throw new ConflictException(
        s"version $version of $store was read as commit ${commitId.mkString}, it is now of commit ${written.mkString}",
        "Another attempt of the task won meanwhile. This attempt fails; its retry reads the winner's rows."
      )
    }
}
