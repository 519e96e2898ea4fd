package io.bucketstate.checkpoint.sst

import io.bucketstate.checkpoint.io.ByteSlice

/**
 * Goes from data block to data block, from the first that may have a key or one behind it. Reads the index part by part.
 * For one thread.
 *
 * @param open reads a part of it
 */
private[checkpoint] final class IndexWalk(
    index: SstParts,
    from: Array[Byte],
    open: SstHandle => ByteSlice
) {
  private[this] var number = index.of(from)
  private[this] var places: SstPlaces = _
  private[this] var valid = number < index.count && {
    places = new SstPlaces(open(index.place(number)))
    places.goTo(from) || toNextPart()
  }

  /** Whether it stands on a block. */
  def isValid: Boolean = valid

  /** Where that lies. */
  def place: SstHandle = places.place

  /** Whether behind this block there may be keys whose first 4 bytes are not behind these. */
  def prefixIsUpTo(last: Int): Boolean = places.prefixIsUpTo(last)

  /** To the next block, if there is one. */
  def advance(): Boolean = {
    valid = places.advance() || toNextPart()
    valid
  }

  private def toNextPart(): Boolean = {
    var found = false
    while (!found && number + 1 < index.count) {
      number += 1
      places = new SstPlaces(open(index.place(number)))
      found = places.advance()
    }
    found
  }
}
