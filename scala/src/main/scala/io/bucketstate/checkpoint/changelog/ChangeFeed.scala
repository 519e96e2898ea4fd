package io.bucketstate.checkpoint.changelog

import java.util.Arrays

import scala.collection.mutable.ArrayBuffer

import io.bucketstate.checkpoint.io.{Attempt, FileStore}
import io.bucketstate.checkpoint.records.KnownFamilies
import io.bucketstate.error.CorruptException
import io.bucketstate.record.FamilySpec

/**
 * One change of one column family.
 *
 * @param family as the change's file has it
 * @param op     one of [[io.bucketstate.record.RecordOp]]
 * @param record key and value as [[io.bucketstate.record.Record]] lays them out; a removal ends with the key
 */
final case class Change(version: Long, family: FamilySpec, op: Byte, record: Array[Byte])

/**
 * The changes of some versions, as the changelogs hold them: of each version the last write per key, by
 * bucket. That a whole family was removed does not show. Only reads; holds one file at a time.
 */
final class ChangeFeed(folder: FileStore, families: KnownFamilies) {

  /**
   * @param checkpointId of `to`; the versions before it are those it was built on
   * @param family       by name; versions in which it does not exist have no changes of it
   */
  def read(from: Long, to: Long, checkpointId: Option[String], family: String): Changes = {
    val lineage = Lineage.of(folder, Attempt(to, checkpointId))(_.version < from)
    val chain = new ChangelogChain(folder, None)
    new Changes(lineage.changelogs.reverseIterator, new ChangelogOfFamily(_, family, chain))
  }

  /** One file, opened, as far as it is of one family. Closed by whoever made it. */
  private final class ChangelogOfFamily(file: Attempt, family: String, chain: ChangelogChain)
      extends Changes.Source {
    private[this] val reader =
      new MissingChangelog(folder).explained(file, file)(ChangelogReader.open(folder, file))
    try chain.fits(file, reader.header)
    catch {
      case e: CorruptException =>
        reader.close()
        throw e
    }
    private[this] lazy val blocks = {
      val path = s"${folder.location}/${file.changelog}"
      val specs = reader.families.map(f => families.matching(path, f.descriptor))
      specs.find(_.name == family).iterator.flatMap { spec =>
        reader.blocks.iterator.filter(_.family == spec.id).map(spec -> _)
      }
    }

    // Block by block: a changelog inflated as a whole, as objects, could be many times its size.
    override def next(): Option[Seq[Change]] = blocks.nextOption().map { case (spec, block) =>
      val changes = new ArrayBuffer[Change](block.records)
      reader.foreachIn(Seq(block)) { (_, op, bytes, offset, length) =>
        changes += Change(
          file.version,
          spec,
          op,
          Arrays.copyOfRange(bytes, offset, offset + length)
        )
        ()
      }
      changes.toSeq
    }

    override def close(): Unit = reader.close()
  }
}

/**
 * Changes one after the other, oldest first. The file that they are taken from is let go at its end, when it cannot be
 * read, and by [[close]], which who reads no further calls. For one thread.
 */
final class Changes private[changelog] (
    files: Iterator[Attempt],
    open: Attempt => Changes.Source
) extends Iterator[Change]
    with AutoCloseable {
  private[this] var source: Changes.Source = _ // null if none is open
  private[this] var upcoming = Iterator.empty[Change]
  private[this] var ended = false

  override def hasNext: Boolean = {
    while (!upcoming.hasNext && openOne()) {
      val more =
        try source.next()
        catch {
          case failure: Throwable =>
            close()
            throw failure
        }
      more.fold(letGo())(changes => upcoming = changes.iterator)
    }
    upcoming.hasNext
  }

  override def next(): Change = if (hasNext) upcoming.next() else Iterator.empty.next()

  /** May be called more than once. */
  override def close(): Unit = {
    ended = true
    upcoming = Iterator.empty
    letGo()
  }

  private def openOne(): Boolean = {
    if (source == null && !ended && files.hasNext) source = open(files.next())
    source != null
  }

  private def letGo(): Unit = if (source != null) {
    val open = source
    source = null
    open.close()
  }
}

private[changelog] object Changes {

  /** Where changes come from, some at a time. */
  trait Source extends AutoCloseable {

    /** None at the end. */
    def next(): Option[Seq[Change]]
  }
}
