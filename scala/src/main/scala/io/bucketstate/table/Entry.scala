package io.bucketstate.table

/**
 * One write of one key at one version, newest first in a chain of older ones.
 *
 * An entry lives only as long as some reader or a retried task may need to see behind it; then it
 * *settles*: its place in the table is taken by its bare [[Record]] (or by nothing, when it is a
 * tombstone). So a key that has not changed lately costs one byte array and nothing else.
 *
 * Threads: `hash` and `version` are final. `record` and `removed` change only while `version` is the
 * writer's own open version, which no other thread may read. `older` is set before the entry is
 * linked and later only replaced by something that reads the same at every version still readable.
 *
 * The idea of versions per entry is from Flink's `CopyOnWriteStateMap`.
 *
 * @param version version of the store this write belongs to, counted from the table's base version
 * @param older   what it replaced: null, a settled `Array[Byte]` record, or another `Entry`
 */
final class Entry(
    val hash: Int,
    val bucket: Int,
    val version: Int,
    private[table] var record: Array[Byte],
    private[table] var removed: Boolean,
    private[table] var older: AnyRef
) {

  /** The key and, unless [[isRemoval]], the value: see [[Record]]. */
  def bytes: Array[Byte] = record

  /** True for a tombstone: the key does not exist at this version. */
  def isRemoval: Boolean = removed

  /** False when the removal of a key that no older version holds: such a write leaves no trace. */
  def isVisibleChange: Boolean = !removed || older != null
}
