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
import io.bucketstate.error.{ConflictException, CorruptException, MissingException}
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
    rawBytes: Long,
    figures: Map[MetricKey, Long]
)

/**
 * Makes a table's open version durable: one changelog, one atomic file. One per provider, used by one
 * task at a time; it keeps its buffers from batch to batch.
 *
 * With checkpoint ids a version that is made again of the same commit, with the same changes, is the attempt before:
 * nothing is written, and it bears that one's id. So it is with each further action of a `foreachBatch`, of which Spark
 * goes on with the id that it was told first. What the changes are is compared, byte by byte, and taken from nobody's
 * word: a query may come to something else each time. Without ids it is so in storage that refuses to replace a file that is
 * to be new, if the file is still the one of the attempt before, which one read tells.
 *
 * Without ids two attempts at a version write one name. Where the storage refuses to replace a file that is to be new,
 * one rule decides between them. A store knows up to which version there were files when it loaded. Whatever it writes,
 * it first creates the file of the next version after those, as a new one. If that is refused, another attempt was faster,
 * and this one fails:
 *
 *  - What is written is that next version, as a rule. Then its file is all there is to create.
 *  - Or it is a version that may have a file: the batch was committed before and came to nothing. Then an empty file is
 *    created behind the last one, before the version is replaced.
 *
 * So of all attempts that know of the same files one alone changes any of them, and those that know of fewer are refused,
 * too. Whoever is not refused need not look whether the version below is still what it has in memory.
 *
 * An empty file is of an attempt that comes to nothing, as a killed one may leave it, and is replaced by the real one. While
 * it is the last file, the store that made it need not create another: it looks that there is none behind it. What is not
 * covered is a store that hangs between that and the write: storage would have to compare what it replaces.
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
  @volatile private[this] var claimed = -1L // of the newest file that was created as an empty one

  /** Whether a version may have a file because this store has created an empty one, of it or behind it. */
  def hasClaimed(version: Long): Boolean = version <= claimed

  /**
   * Returns what the version is known as. When it throws, nothing was published, unless an answer got lost.
   *
   * Without ids, and where the storage refuses to replace a file that is to be new, this throws `ConflictException` if
   * another attempt has written since the table was loaded.
   *
   * @param changes     of the version
   * @param ids         that it gets if it is new
   * @param commitId    that it gets if it is new
   * @param base        what the table's newest version is known as
   * @param writtenUpTo the highest version that had a file when the table was loaded, or that was committed since
   */
  def commit(
      changes: ChangeSet,
      ids: CheckpointIds,
      commitId: UUID,
      base: Option[UUID],
      writtenUpTo: Long
  ): Committed = {
    val header = new ChangelogHeader(
      changes.version,
      commitId,
      buckets.assigner.numBuckets,
      BucketAssigner.HashName,
      codec,
      ids.own,
      if (ids.own.isDefined) ids.base else base.map(_.toString)
    )
    val before = last.filter { written =>
      written.isMadeOf(changes.version, ids, base) && (ids.own.isDefined || folder.refusesTaken)
    }
    // Whose buffers nobody needs any more.
    val encoder = if (before.isEmpty) writer else new ChangelogWriter()
    last = None
    try publish(changes, header, ids, base, writtenUpTo, before, encoder)
    finally if (encoder ne writer) encoder.close()
  }

  /**
   * @param before  the attempt before it, if it may be the same
   * @param encoder becomes the writer if the version is written
   */
  private def publish(
      changes: ChangeSet,
      header: ChangelogHeader,
      ids: CheckpointIds,
      base: Option[UUID],
      writtenUpTo: Long,
      before: Option[Written],
      encoder: ChangelogWriter
  ): Committed = {
    val start = ticker.nanos
    val file = Attempt(changes.version, ids.own)
    val bytes = encoder.encode(header, changes)
    val encoded = ticker.nanos
    before.filter(same => same.bytes.holdsSameAs(bytes) && isStill(file, same.commitId)) match {
      case Some(same) =>
        last = before
        committed(same, bytes.records, encoded - start, 0L)
      case None =>
        // No other attempt writes a name with an id.
        if (file.checkpointId.isDefined) folder.write(file.changelog)(bytes.writeTo)
        else write(changes, header, bytes, Math.max(writtenUpTo, claimed))
        recent.committed(file, bytes)
        val written = new Written(changes.version, ids, base, header.commitId, bytes)
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
    version.bytes.rawBytes,
    Map(
      MetricKey.ChangelogBytes -> written,
      MetricKey.ChangedKeys -> records,
      MetricKey.EncodeTime -> encodeNanos / 1000000L,
      MetricKey.WriteTime -> writeNanos / 1000000L
    )
  )

  /** @param newest version that has a file, as far as it is known */
  private def write(
      changes: ChangeSet,
      header: ChangelogHeader,
      bytes: EncodedChangelog,
      newest: Long
  ): Unit = {
    val file = Attempt(changes.version)
    if (file.version > newest) create(file, header.commitId, bytes)
    else {
      if (folder.refusesTaken) {
        if (newest == claimed) requireLast(newest) else claim(Attempt(newest + 1), changes, header)
      }
      folder.write(file.changelog)(bytes.writeTo)
      if (file.version == claimed) claimed = -1L
    }
  }

  /** Throws unless this is the first to write that file. */
  private def create(file: Attempt, commitId: UUID, bytes: EncodedChangelog): Unit =
    if (!folder.writeNew(file.changelog)(bytes.writeTo) && !isThere(file, commitId)) {
      throw overtaken(file)
    }

  /** Creates an empty file behind all that are known, so that whoever knows of no more is refused from now on. */
  private def claim(next: Attempt, changes: ChangeSet, current: ChangelogHeader): Unit = {
    val header = current.copy(
      version = next.version,
      commitId = Committer.idAfter(current.commitId),
      baseId = Some(current.commitId.toString)
    )
    val nothing =
      new ChangeSet(next.version, changes.families.map(new Unchanged(_)), changes.nextFamily)
    Using.resource(new ChangelogWriter()) { writer =>
      create(next, header.commitId, writer.encode(header, nothing))
    }
    claimed = next.version
  }

  /** Throws if another attempt has made a file behind the empty one of this store. */
  private def requireLast(version: Long): Unit = {
    val next = Attempt(version + 1)
    // An object store answers a read with one request, but not always a look for a file that is not there.
    val found =
      try Some(folder.readPrefix(next.changelog, 1))
      catch { case _: MissingException => None }
    if (found.isDefined) throw overtaken(next)
  }

  /** Whether the file that this store has written is there as it was. */
  private def isStill(file: Attempt, commitId: UUID): Boolean = file.checkpointId.isDefined || {
    try isThere(file, commitId)
    catch { case _: MissingException | _: CorruptException => false }
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
    def isMadeOf(version: Long, ids: CheckpointIds, base: Option[UUID]): Boolean = {
      // A manifest need not name a commit, and without ids nothing else says which state it is.
      val isKnown = ids.own.isDefined || base.isDefined || version == 1
      isKnown && this.ids.own.isDefined == ids.own.isDefined && this.ids.base == ids.base &&
      this.version == version && this.base == base
    }
  }
}
