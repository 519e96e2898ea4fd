package io.bucketstate.checkpoint.changelog

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.checkpoint.records.KnownFamilies

/**
 * One change of one column family.
 *
 * @param op     one of [[io.bucketstate.table.RecordOp]]
 * @param record key and value as [[io.bucketstate.table.Record]] lays them out; a removal ends with the key
 */
final case class Change(version: Long, op: Byte, record: Array[Byte])

/**
 * The changes of some versions, as the changelogs hold them: of each version the last write per key, by
 * bucket. That a whole family was removed does not show. Only reads; holds one file at a time.
 */
final class ChangeFeed(store: FileStore, families: KnownFamilies) {

  /**
   * @param checkpointId of `to`; the versions before it are those it was built on
   * @param family       by name; versions in which it does not exist have no changes of it
   */
  def read(
      from: Long,
      to: Long,
      checkpointId: Option[String],
      family: String
  ): Iterator[Change] = {
    val lineage = Lineage.of(store, Attempt(to, checkpointId))(_.version < from)
    lineage.changelogs.reverseIterator.flatMap(changesOf(_, family))
  }

  private def changesOf(file: Attempt, family: String): Iterator[Change] = {
    val reader = ChangelogReader.open(store, file)
    val path = s"${store.location}/${file.changelog}"
    val specs = reader.families.map(f => families.matching(path, f.descriptor))
    val id = specs.find(_.name == family).map(_.id)
    // Block by block: a changelog inflated as a whole, as objects, could be many times its size.
    reader.blocks.iterator.filter(block => id.contains(block.family)).flatMap { block =>
      val changes = new ArrayBuffer[Change](block.records)
      reader.foreachIn(Seq(block)) { (_, op, bytes, offset, length) =>
        val record = java.util.Arrays.copyOfRange(bytes, offset, offset + length)
        changes += Change(file.version, op, record)
        ()
      }
      changes
    } ++ closing(reader)
  }

  /** Nothing: reached when all before it was taken. */
  private def closing(reader: ChangelogReader): Iterator[Change] = Iterator.unfold(()) { _ =>
    reader.close()
    None
  }
}
