package io.bucketstate.testkit

import java.io.ByteArrayOutputStream
import java.nio.file.Path
import java.util.UUID

import scala.util.Using

import io.bucketstate.bucket.BucketAssigner
import io.bucketstate.checkpoint.changelog.{ChangelogHeader, ChangelogWriter}
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, FileStore}
import io.bucketstate.checkpoint.manifest.{Checkpoint, Manifest}
import io.bucketstate.checkpoint.records.{BucketSource, KnownFamilies}
import io.bucketstate.checkpoint.run.{RunAccess, SstOptions, WorkFolder}
import io.bucketstate.checkpoint.snapshot.{SnapshotTarget, Snapshotter}
import io.bucketstate.table.{Record, RecordOp}

/**
 * A store's changelogs made by hand from strings, and a snapshotter over them, without Spark or a table.
 *
 * @param maxFileBytes 1 for a file per bucket
 * @param estimate     what changelogs give for the number of keys at a version, where that is not counted
 */
final class SnapshotRoom(
    store: FileStore,
    folder: Path,
    maxRuns: Int = 3,
    maxFileBytes: Long = Long.MaxValue,
    estimate: Long => Option[Long] = _ => None
) extends AutoCloseable {
  private val numBuckets = 4
  private val assigner = new BucketAssigner(numBuckets)
  private var models = Vector(Map.empty[String, String])

  val runs: RunAccess =
    new RunAccess(
      store,
      SstOptions(BlockCodec.Lz4, Runs.BlockBytes),
      () => WorkFolder(folder.resolve("work"), temporary = true),
      maxFileBytes
    )

  private val families = new KnownFamilies(Changes.descriptor(0), others = false)

  val snapshotter: Snapshotter = newSnapshotter()

  /** As after a restart. */
  def newSnapshotter(): Snapshotter =
    new Snapshotter(new Checkpoint(store, assigner, families, runs), "test", _ => None, maxRuns)

  def newest: Long = models.size - 1L

  /** The state at a version. */
  def model(version: Long): Map[String, String] = models(version.toInt)

  /** Writes the next version's changelog. */
  def commit(changes: (String, Option[String])*): Long = {
    val next = changes.foldLeft(models.last) {
      case (model, (key, Some(value))) => model.updated(key, value)
      case (model, (key, None))        => model.removed(key)
    }
    val writes = changes.map { case (key, value) =>
      Write(bucketOf(key), key.getBytes.toSeq, value.map(_.getBytes.toSeq))
    }
    models :+= next
    write(newest, s"$newest", writes)
    newest
  }

  /** Another attempt writes a version anew, of which the next one knows nothing. */
  def replace(version: Long): Unit = write(version, s"another $version", Nil)

  private def write(version: Long, commit: String, writes: Seq[Write]): Unit = {
    val header =
      ChangelogHeader(
        version,
        commitId(commit),
        numBuckets,
        BucketAssigner.HashName,
        BlockCodec.Lz4,
        baseId = Option.when(version > 1)(commitId(s"${version - 1}").toString)
      )
    val out = new ByteArrayOutputStream
    Using.resource(new ChangelogWriter) { writer =>
      val guess = estimate(version)
      val keys = guess.getOrElse(model(version).size.toLong)
      val family = Changes.of(Changes.descriptor(0), numBuckets, writes, keys, guess.isDefined)
      writer.encode(header, Changes.set(Seq(family))).writeTo(out)
    }
    store.write(Attempt(version).changelog)(_.write(out.toByteArray))
  }

  private def commitId(name: String): UUID = UUID.nameUUIDFromBytes(name.getBytes)

  def target(version: Long, fromMemory: Boolean = false): SnapshotTarget =
    SnapshotTarget(Attempt(version), None, Option.when(fromMemory)(memory(version)))

  /** What the runs of a manifest hold. */
  def contentOf(manifest: Manifest): Map[String, String] =
    Runs
      .drain(runs.readers.scanAll(manifest.runs, dropRemovals = true))
      .iterator
      .map { case (place, value) =>
        new String(Runs.keyOf(place)) -> new String(value.getOrElse(Nil).toArray)
      }
      .toMap

  def close(): Unit = runs.close()

  private def bucketOf(key: String): Int = {
    val bytes = key.getBytes
    assigner.bucket(assigner.hash(bytes, 0, bytes.length))
  }

  private def memory(version: Long): BucketSource = new BucketSource {
    def families: Iterable[Int] = Seq(0)
    def read(family: Int, bucket: Int, sink: io.bucketstate.table.RecordSink): Unit =
      model(version).foreach { case (key, value) =>
        if (bucketOf(key) == bucket) sink(Record.of(key.getBytes, value.getBytes), RecordOp.Put)
      }
  }
}
