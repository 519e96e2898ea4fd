package io.bucketstate.rocksdb.follower

import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{
  BucketstateException,
  ConflictException,
  CorruptException,
  UnavailableException
}
import io.bucketstate.history.CommitPoint
import io.bucketstate.rocksdb.state.StateDatabase

/** What a batch is told of its store's local database. */
private[bucketstate] object DatabaseFailures {

  /**
   * @param bytes of changes that wait
   * @param all   of those of all stores of the process
   */
  def stalled(store: String, bytes: Long, all: Long, waitMs: Long): UnavailableException =
    new UnavailableException(
      store,
      s"$bytes bytes of changes, of $all in all stores of this executor, wait to be written to the local RocksDB " +
        s"database, which has not caught up in $waitMs ms",
      s"Nothing is lost, and the task may succeed when it is tried again. If it does not, the local disk is full or too " +
        s"slow, or writes are stalled: set ${ConfigKey.LocalDir.key} to a faster disk, use more partitions or " +
        s"executors, give those more memory, or set ${ConfigKey.Engine.key}=heap."
    )

  /** It cannot go on from a commit: RocksDB failed while somebody read it, or nothing follows up to a version. */
  def ended(database: StateDatabase, at: CommitPoint, newest: Long): BucketstateException =
    if (database.hasFailed)
      new CorruptException(
        database.folder.toString,
        "the local RocksDB database could not be read, or not be written to",
        Remedy
      )
    else
      new ConflictException(
        s"the local RocksDB database in ${database.folder} is at version ${at.version}, commit ${at.commitId.mkString}, " +
          s"and no version up to $newest that is in memory or has a changelog was made on top of it",
        Remedy
      )

  private final val Remedy =
    "The next batch loads the checkpoint, and another database is made of it."
}
