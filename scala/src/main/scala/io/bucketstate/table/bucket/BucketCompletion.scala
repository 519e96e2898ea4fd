package io.bucketstate.table.bucket

import io.bucketstate.record.{FamilySpec, RecordBuffer, TimedValue}
import io.bucketstate.table.entry.{MergeChain, Slots}

/** How a bucket becomes whole again. */
private[table] object BucketCompletion {
  import SlotArrays._

  /**
   * Adds to a bucket what the cold part has, of which this knows what is there in the place of it. O(keys that are in the
   * bucket). The writer's.
   *
   * @param rest what the cold part of the current floor has; of no use any more
   * @param key  a buffer to work with
   */
  def of(bucket: Bucket, rest: Bucket, key: RecordBuffer, spec: FamilySpec): Unit = {
    val own = bucket.capture()
    var i = 0
    while (i < own.capacity) {
      if (isTaken(own.hashes.getPlain(i))) {
        val slot = own.content(own.slots.getPlain(i))
        val start =
          if (own.starts == null || own.starts(i) == 0) TimedValue.Untimed
          else own.starts(i) & 0xffffffffL
        key.keyOf(Slots.recordOf(slot), 0, spec.bucketKey)
        val known = rest.indexOf(key)
        val isBelow = Slots.makeKnown(slot, if (known < 0) null else rest.at(known))
        if (known < 0) rest.insert(key.hash, slot, start, own.stampAt(i))
        else {
          if (!isBelow) rest.charge(-MergeChain.heap(rest.at(known), null))
          rest.replace(known, slot)
          rest.setStart(known, start)
          rest.setStamp(known, own.stampAt(i))
        }
      }
      i += 1
    }
    rest.moveTo(bucket)
  }
}
