package io.bucketstate.store

import java.util.UUID

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.changelog.{ChangelogHeader, ChangelogWriter}
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, FileStore}
import io.bucketstate.config.MetricKey
import io.bucketstate.table.ChangeSet

/**
 * Makes a table's open version durable: one changelog, one atomic file. One per provider, used by one
 * task at a time; it keeps its buffers from batch to batch.
 */
private[bucketstate] final class Committer(
    store: FileStore,
    assigner: BucketAssigner,
    codec: BlockCodec,
    ticker: Ticker
) extends AutoCloseable {
  private[this] val writer = new ChangelogWriter()

  /**
   * Returns the figures of the commit. When it throws, nothing was published.
   *
   * @param changes of the version
   * @param base    what the table's newest version is known as
   */
  def commit(
      changes: ChangeSet,
      ids: CheckpointIds,
      commitId: UUID,
      base: Option[UUID]
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
    store.write(Attempt(changes.version, ids.own).changelog)(bytes.writeTo)
    Map(
      MetricKey.ChangelogBytes -> bytes.length,
      MetricKey.ChangedKeys -> bytes.records,
      MetricKey.EncodeTime -> (encoded - start) / 1000000L,
      MetricKey.WriteTime -> ticker.millisSince(encoded)
    )
  }

  override def close(): Unit = writer.close()
}
