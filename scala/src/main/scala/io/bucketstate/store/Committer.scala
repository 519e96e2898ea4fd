package io.bucketstate.store

import java.util.UUID

import scala.util.Using

import io.bucketstate.background.Ticker
import io.bucketstate.checkpoint.changelog.{
  ChangelogHeader,
  ChangelogReader,
  ChangelogWriter,
  EncodedChangelog,
  RecentChangelogs
}
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, FileStore}
import io.bucketstate.checkpoint.manifest.BucketCount
import io.bucketstate.config.MetricKey
import io.bucketstate.error.ConflictException
import io.bucketstate.history.CheckpointIds
import io.bucketstate.record.{
  BucketAssigner,
  ChangeSet,
  ChangeSink,
  FamilyChanges,
  FamilyDescriptor,
  TimeBuckets
}

/**
 * A version that is durable.
 *
 * @param ids      that its changelog bears
 * @param commitId that its changelog bears
 * @param bytes    of its changelog
 * @param figures  of the commit
 */
private[bucketstate] final case class Committed(
    ids: CheckpointIds,
    commitId: UUID,
    bytes: Long,
    figures: Map[MetricKey, Long]
)

/**
 * Makes a table's open version durable: one changelog, one atomic file. One per provider, used by one
 * task at a time; it keeps its buffers from batch to batch.
 *
 * With checkpoint ids a version that is made again of the same commit, with the same changes, is the attempt before:
 * nothing is written, and it bears that one's id. So it is with each further action of a `foreachBatch`, of which Spark
 * goes on with the id that it was told first. What the changes are is compared, byte by byte, and taken from nobody's
 * word: a query may come to something else each time.
 *
 * Without ids two attempts at a version write one name. Where the storage refuses to replace a file that is to be new,
 * these hold, so that whoever commits a new version need not look whether the one before it is still what it has in memory:
 *
 *  1. A version that has no file, as far as it is known, is written as a new one. If it is refused, another
 *     attempt was faster.
 *  1. Whoever replaces another's file of version v has seen to it before that v + 1 has a file: where it has none, an empty
 *     one is written as a new one. Whoever has the replaced v in memory is then refused by the first rule.
 *  1. So a version without a file is on top of one that has been written by one store alone.
 *
 * The empty one is of an attempt that comes to nothing, as a killed one may leave it, and is replaced by the real one.
 */
private[bucketstate] final class Committer(
    folder: FileStore,
    recent: RecentChangelogs,
    buckets: BucketCount,
    codec: BlockCodec,
    ticker: Ticker
) extends AutoCloseable {
  import Committer._

  private[this] var writer = new ChangelogWriter()
  private[this] var last = Option.empty[Written] // in the writer's buffers
  @volatile private[this] var ownNewest =
    -1L // version that this store has written, and nobody before it
  @volatile private[this] var ownEmpty = -1L // the same, of one that holds nothing

  /** Whether this store has written a version's file, as the first one to do so or over another's. Of the last ones. */
  def hasWritten(version: Long): Boolean = version == ownNewest || version == ownEmpty

  /**
   * Returns what the version is known as. When it throws, nothing was published, unless an answer got lost.
   *
   * @param changes     of the version
   * @param ids         that it gets if it is new
   * @param commitId    that it gets if it is new
   * @param base        what the table's newest version is known as
   * @param mayReplace  whether the version may have a file already, of an attempt that came to nothing. Where
   *                    it may not, one that is there all the same is of an attempt that was faster, and where
   *                    the storage refuses to replace it, this throws `ConflictException`.
   * @param hasNext     whether the version after it may have one
   */
  def commit(
      changes: ChangeSet,
      ids: CheckpointIds,
      commitId: UUID,
      base: Option[UUID],
      mayReplace: Boolean,
      hasNext: Boolean
  ): Committed = {
    val start = ticker.nanos
    val header = new ChangelogHeader(
      changes.version,
      commitId,
      buckets.assigner.numBuckets,
      BucketAssigner.HashName,
      codec,
      ids.own,
      if (ids.own.isDefined) ids.base else base.map(_.toString)
    )
    val before = last.filter(_.isMadeOf(changes.version, ids, base))
    // Whose buffers nobody needs any more.
    val encoder = if (before.isEmpty) writer else new ChangelogWriter()
    last = None
    val bytes = encoder.encode(header, changes)
    val encoded = ticker.nanos
    before.filter(_.bytes.holdsSameAs(bytes)) match {
      case Some(same) =>
        encoder.close()
        last = before
        committed(same, bytes.records, encoded - start, 0L)
      case None =>
        val file = Attempt(changes.version, ids.own)
        write(file, commitId, bytes, mayReplace) {
          // Of the first versions nobody knows: nothing is listed for the empty store.
          announce(changes, header, hasNext || file.version == 1)
        }
        recent.committed(file, bytes)
        val written = new Written(changes.version, ids, base, commitId, bytes)
        if (encoder ne writer) writer.close()
        writer = encoder
        last = Some(written)
        committed(written, bytes.records, encoded - start, ticker.nanos - encoded, bytes.length)
    }
  }

  private def committed(
      version: Written,
      records: Long,
      encodeNanos: Long,
      writeNanos: Long,
      written: Long = 0L
  ) = Committed(
    version.ids,
    version.commitId,
    version.bytes.length,
    Map(
      MetricKey.ChangelogBytes -> written,
      MetricKey.ChangedKeys -> records,
      MetricKey.EncodeTime -> encodeNanos / 1000000L,
      MetricKey.WriteTime -> writeNanos / 1000000L
    )
  )

  /** @param beforeReplacing called before the file of another attempt is replaced */
  private def write(
      file: Attempt,
      commitId: UUID,
      bytes: EncodedChangelog,
      mayReplace: Boolean
  )(beforeReplacing: => Unit): Unit = {
    val name = file.changelog
    def replace(): Unit = {
      beforeReplacing
      folder.write(name)(bytes.writeTo)
    }
    // No other attempt writes a name with an id.
    if (file.checkpointId.isDefined || hasWritten(file.version)) folder.write(name)(bytes.writeTo)
    else if (mayReplace && file.version > 1) replace()
    else if (!folder.writeNew(name)(bytes.writeTo) && !isThere(file, commitId)) {
      if (!mayReplace) throw overtaken(file)
      replace()
    }
    ownNewest = file.version
  }

  /** Sees to it that the version after the one that is replaced has a file. */
  private def announce(changes: ChangeSet, of: ChangelogHeader, hasNext: Boolean): Unit =
    if (!hasWritten(changes.version + 1) && folder.refusesTaken) {
      val next = Attempt(changes.version + 1)
      val header = of.copy(
        version = next.version,
        commitId = Committer.idAfter(of.commitId),
        baseId = Some(of.commitId.toString)
      )
      val nothing =
        new ChangeSet(next.version, changes.families.map(new Unchanged(_)), changes.nextFamily)
      Using.resource(new ChangelogWriter()) { writer =>
        val bytes = writer.encode(header, nothing)
        val isNew =
          folder
            .writeNew(next.changelog)(bytes.writeTo) || (!hasNext && isThere(next, header.commitId))
        if (isNew) ownEmpty = next.version
        else if (!hasNext) throw overtaken(next)
      }
    }

  /** Whether a file is of that commit: it was refused because there is one, which is this one if its answer got lost. */
  private def isThere(file: Attempt, commitId: UUID): Boolean =
    ChangelogReader.readHeader(folder, file).commitId == commitId

  private def overtaken(file: Attempt) = new ConflictException(
    s"${folder.location}/${file.changelog} was written by another attempt at version ${file.version} since this " +
      "one began",
    "This attempt fails, and its changes are dropped. If it is tried again, it goes on from what is there."
  )

  override def close(): Unit = writer.close()
}

private object Committer {

  /** The id of the empty file behind a commit: each try comes to one and the same. */
  private def idAfter(commitId: UUID): UUID =
    new UUID(commitId.getMostSignificantBits, ~commitId.getLeastSignificantBits)

  /** A family as a version leaves it that changes nothing. */
  private final class Unchanged(family: FamilyChanges) extends FamilyChanges {
    override def descriptor: FamilyDescriptor = family.descriptor
    override def numBuckets: Int = family.numBuckets
    override def keyCount: Option[Long] = family.keyCount
    override def times: Option[TimeBuckets] = family.times
    override def foreach(sink: ChangeSink): Unit = ()
  }

  /**
   * A changelog that was written.
   *
   * @param base the commit that it was made of
   */
  private final class Written(
      version: Long,
      val ids: CheckpointIds,
      base: Option[UUID],
      val commitId: UUID,
      val bytes: EncodedChangelog
  ) {

    /** Whether an attempt at that version begins with the same state as this one did. */
    def isMadeOf(version: Long, ids: CheckpointIds, base: Option[UUID]): Boolean =
      this.ids.own.isDefined && ids.own.isDefined && this.ids.base == ids.base &&
        this.version == version && this.base == base
  }
}
