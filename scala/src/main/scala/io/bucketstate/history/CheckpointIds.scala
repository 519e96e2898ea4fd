package io.bucketstate.history

import java.util.UUID

/**
 * The checkpoint ids of one write store, with checkpoint format 2.
 *
 * @param own  of the version that the store makes; None with format 1
 * @param base of the version that it builds on; None for the empty store, and for the first version
 *             after a checkpoint went from format 1 to 2
 */
private[bucketstate] final case class CheckpointIds(own: Option[String], base: Option[String])

private[bucketstate] object CheckpointIds {

  /** For a store opened at `base`; with ids, each store gets one that no other attempt has. */
  def forStore(enabled: Boolean, base: Option[String], newId: () => UUID): CheckpointIds =
    if (enabled) CheckpointIds(Some(newId().toString), base) else CheckpointIds(None, None)
}
