package io.bucketstate.store

import java.util.UUID

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.changelog.{
  ChangelogHeader,
  ChangelogReader,
  ChangelogWriter,
  RecentChangelogs
}
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, FileStore}
import io.bucketstate.config.MetricKey
import io.bucketstate.error.ConflictException
import io.bucketstate.table.ChangeSet

/**
 * Makes a table's open version durable: one changelog, one atomic file. One per provider, used by one
 * task at a time; it keeps its buffers from batch to batch.
 */
private[bucketstate] final class Committer(
    store: FileStore,
    recent: RecentChangelogs,
    assigner: BucketAssigner,
    codec: BlockCodec,
    ticker: Ticker
) extends AutoCloseable {
  private[this] val writer = new ChangelogWriter()

  /**
   * Returns the figures of the commit. When it throws, nothing was published, unless an answer got lost.
   *
   * @param changes     of the version
   * @param base        what the table's newest version is known as
   * @param mayReplace  whether the version may have a file already, of an attempt that came to nothing. Where
   *                    it may not, one that is there all the same is of an attempt that was faster, and where
   *                    the storage refuses to replace it, this throws `ConflictException`.
   */
  def commit(
      changes: ChangeSet,
      ids: CheckpointIds,
      commitId: UUID,
      base: Option[UUID],
      mayReplace: Boolean
  ): Map[MetricKey, Long] = {
    val start = ticker.nanos
    val header = new ChangelogHeader(
      changes.version,
      commitId,
      assigner.numBuckets,
      BucketAssigner.HashName,
      codec,
      ids.own,
      if (ids.own.isDefined) ids.base else base.map(_.toString)
    )
    val bytes = writer.encode(header, changes)
    val encoded = ticker.nanos
    val file = Attempt(changes.version, ids.own)
    // No other attempt writes a name with an id.
    if (mayReplace || ids.own.isDefined) store.write(file.changelog)(bytes.writeTo)
    else if (!store.writeNew(file.changelog)(bytes.writeTo)) requireOwn(file, commitId)
    recent.committed(file, bytes)
    Map(
      MetricKey.ChangelogBytes -> bytes.length,
      MetricKey.ChangedKeys -> bytes.records,
      MetricKey.EncodeTime -> (encoded - start) / 1000000L,
      MetricKey.WriteTime -> ticker.millisSince(encoded)
    )
  }

  override def close(): Unit = writer.close()

  /** A file was refused because there is one: it is this one if its answer got lost. */
  private def requireOwn(file: Attempt, commitId: UUID): Unit = {
    val found = ChangelogReader.readHeader(store, file).commitId
    if (found != commitId) {
      throw new ConflictException(
        s"${store.location}/${file.changelog} was written by another attempt at version ${file.version}, " +
          s"commit $found, since this one began",
        "This attempt fails, and its changes are dropped. If it is tried again, it replaces that file."
      )
    }
  }
}
