package io.bucketstate.store

import io.bucketstate.history.CheckpointIds
import io.bucketstate.table.StateTable

/**
 * What one writer does to a store. For one task: `isCurrent` and `end` may be called by any thread, all
 * else by one at a time.
 */
private[bucketstate] trait WriteSession {

  /** Has the version that is written, one above the version that was opened. */
  def table: StateTable

  /**
   * Names the version that is being made, and the one it builds on. The commit may find out that the version is an attempt
   * that there is already, and has its name from then on.
   */
  def ids: CheckpointIds

  /** Throws when another task has taken the store over. */
  def verify(): Unit

  /** Whether this task still holds the store; cheap enough for every call. */
  def isCurrent: Boolean

  /**
   * Makes the open changes durable; the caller has verified. When it throws, the version may be there all
   * the same, since a reply of the storage can be lost: the next who opens it finds out.
   *
   * @return the figures of the store as they are then; what they count is counted from anew
   */
  def commit(): StoreFigures

  /** Undoes the open changes. No other thread is in the middle of a call. */
  def abort(): Unit

  /** Leaves the table with its open changes to whoever may be in the middle of a call: nobody else goes on from it. */
  def abandon(): Unit

  /** Keys and memory as they are now: what happened since the last commit is left for the next one. */
  def current: StoreFigures

  /** Lets go of the store; may be called more than once. */
  def end(): Unit
}
