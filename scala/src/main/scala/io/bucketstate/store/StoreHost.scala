package io.bucketstate.store

import java.nio.file.Path

import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.checkpoint.snapshot.FamilySchemas

/**
 * The program that a store is part of: it has words for failures, folders for working files, and is told
 * what became of the store. Thread-safe.
 */
private[bucketstate] trait StoreHost extends LockHost {

  /** The store, for messages and as manifests name it. */
  def name: String

  /** What a task is told when a version, or a part of it, cannot be loaded. */
  def cannotLoad(cause: Throwable): Throwable

  /** The schemas of a column family by its name, as far as the query has told them. */
  def schemasOf(family: String): Option[FamilySchemas]

  /** Bytes of the heap that the program itself leaves to others. */
  def spareableHeap: Long

  /** A new folder for working files, which the store deletes when it is closed. */
  def newFolder(): Path

  /** Folders that other processes may have made beside one of these, whether they are still there or have died. */
  def foldersLike(own: Path): Seq[Path]

  /**
   * Whether the caller is a batch of the query that the store is of. Whoever only reads may open versions for writing, too,
   * and nothing is to begin, or to be told, that only a batch goes on with. What is no batch here and commits is one after all.
   */
  def isOfBatch: Boolean

  /** A state is handed out that comes from files. */
  def restored(): Unit

  /** A writer's version is durable, and so is the snapshot it had to make. What this throws fails the commit. */
  def committed(version: Long): Unit

  /**
   * Versions of this store that are to be kept for good. Throws when that cannot be told: then nothing may be deleted.
   *
   * @param since what was to be kept at this moment of the ticker or later
   */
  def held(since: Long): Seq[Attempt]

  /** A snapshot was published. What this throws is logged. */
  def snapshotMade(version: Long): Unit
}
