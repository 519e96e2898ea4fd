package io.bucketstate.checkpoint

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.CheckpointFiles.Changelog

/**
 * One change of one column family.
 *
 * @param op     one of [[ChangelogOp]]
 * @param record key and value as [[io.bucketstate.table.Record]] lays them out; a removal ends with the key
 */
final case class Change(version: Long, op: Byte, record: Array[Byte])

/**
 * The changes of some versions, as the changelogs hold them: of each version the last write per key, by
 * bucket. Only reads; holds one file at a time.
 */
final class ChangeFeed(store: FileStore, families: KnownFamilies) {

  /** @param checkpointId of `to`; the versions before it are those it was built on */
  def read(from: Long, to: Long, checkpointId: Option[String], family: Int): Iterator[Change] = {
    val lineage = Lineage.of(store, Changelog(to, checkpointId))(_.version < from)
    lineage.changelogs.reverseIterator.flatMap(changesOf(_, family))
  }

  private def changesOf(file: Changelog, family: Int): Iterator[Change] = {
    val reader = ChangelogReader.readWhole(store, file)
    val path = s"${store.location}/${file.name}"
    reader.families.foreach(f => families.matching(path, f.descriptor))
    // Block by block: a changelog inflated as a whole, as objects, could be many times its size.
    reader.blocks.iterator.filter(_.family == family).flatMap { block =>
      val changes = new ArrayBuffer[Change](block.records)
      reader.foreachIn(Seq(block)) { (_, op, bytes, offset, length) =>
        val record = java.util.Arrays.copyOfRange(bytes, offset, offset + length)
        changes += Change(file.version, op, record)
        ()
      }
      changes
    }
  }
}
