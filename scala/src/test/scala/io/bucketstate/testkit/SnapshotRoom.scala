package io.bucketstate.testkit

import java.io.ByteArrayOutputStream
import java.nio.file.Path
import java.util.UUID

import scala.util.Using

import io.bucketstate.checkpoint.changelog.{ChangelogHeader, ChangelogWriter}
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, FileStore, WorkFolder}
import io.bucketstate.checkpoint.manifest.{BucketCount, Checkpoint, Manifest}
import io.bucketstate.checkpoint.records.{BucketSource, KnownFamilies}
import io.bucketstate.checkpoint.run.read.RunAccess
import io.bucketstate.checkpoint.snapshot.{SnapshotTarget, Snapshotter}
import io.bucketstate.checkpoint.sst.SstOptions
import io.bucketstate.record.{BucketAssigner, Record, RecordOp}

/**
 * A store's changelogs made by hand from strings, and a snapshotter over them, without Spark or a table. A key such as
 * `2/key` is one of family 2, others are of family 0; a value such as `+value` is appended to what the key has.
 *
 * @param maxFileBytes  1 for a file per bucket
 * @param counts        whether the changelog of a version says how many keys there are
 * @param maxMergeBytes a larger state is merged by spans of buckets
 */
final class SnapshotRoom(
    store: FileStore,
    folder: Path,
    maxRuns: Int = 3,
    maxFileBytes: Long = Long.MaxValue,
    counts: Long => Boolean = _ => true,
    maxMergeBytes: Long = Long.MaxValue,
    numBuckets: Int = 4,
    familyCount: Int = 1
) extends AutoCloseable {
  import SnapshotRoom._

  private val assigner = new BucketAssigner(numBuckets)
  private var models = Vector(Map.empty[String, String])
  private var retried = Set.empty[Long]

  val runs: RunAccess =
    new RunAccess(
      store,
      SstOptions(BlockCodec.Lz4, Runs.BlockBytes),
      () => WorkFolder(folder.resolve("work"), temporary = true),
      maxFileBytes
    )

  private val families = new KnownFamilies(Changes.descriptor(0), others = familyCount > 1)

  val snapshotter: Snapshotter = newSnapshotter()

  /** As after a restart, maybe with another setting. */
  def newSnapshotter(maxMergeBytes: Long = maxMergeBytes): Snapshotter =
    new Snapshotter(newCheckpoint(), "test", _ => None, maxRuns, maxMergeBytes)

  /** Its files, as whoever starts anew has them. */
  def newCheckpoint(): Checkpoint =
    new Checkpoint(store, BucketCount.of(assigner, store), families, runs)

  def newest: Long = models.size - 1L

  /** The state at a version. */
  def model(version: Long): Map[String, String] = models(version.toInt)

  /** Of a family at a version. */
  def keyCount(version: Long, family: Int): Long =
    model(version).keys.count(familyOf(_) == family).toLong

  /** Writes the next version's changelog. */
  def commit(changes: (String, Option[String])*): Long = {
    models :+= after(models.last, changes)
    write(newest, commitOf(newest), writesOf(changes))
    newest
  }

  /** Another attempt writes the newest version anew, and the next one is built on that. */
  def retry(changes: (String, Option[String])*): Unit = {
    retried += newest
    models = models.init :+ after(models(newest.toInt - 1), changes)
    write(newest, commitOf(newest), writesOf(changes))
  }

  private def writesOf(changes: Seq[(String, Option[String])]): Seq[(String, Write)] = changes.map {
    case (key, value) =>
      val (op, text) = opOf(value)
      val bytes = Option.when(value.isDefined)(text.getBytes.toSeq)
      key -> Write(bucketOf(key), bytesOf(key).toSeq, bytes, appended = op == RecordOp.Merge)
  }

  /** The batches after a version are taken back: what is committed next is another attempt at the one after it. */
  def backTo(version: Long): Unit = models = models.take(version.toInt + 1)

  /** Another attempt writes a version anew, of which the next one knows nothing. */
  def replace(version: Long, changes: (String, Option[String])*): Unit =
    write(version, another(version), writesOf(changes))

  private def write(version: Long, commit: String, writes: Seq[(String, Write)]): Unit = {
    val header =
      ChangelogHeader(
        version,
        commitId(commit),
        numBuckets,
        BucketAssigner.HashName,
        BlockCodec.Lz4,
        baseId = Option.when(version > 1)(commitId(commitOf(version - 1)).toString)
      )
    val out = new ByteArrayOutputStream
    Using.resource(new ChangelogWriter) { writer =>
      val families = (0 until familyCount).map { id =>
        val own = writes.collect { case (key, write) if familyOf(key) == id => write }
        val keys = Option.when(counts(version))(keyCount(version, id))
        Changes.of(Changes.descriptor(id), numBuckets, own, keys)
      }
      writer.encode(header, Changes.set(families)).writeTo(out)
    }
    store.write(Attempt(version).changelog)(_.write(out.toByteArray))
  }

  private def commitOf(version: Long): String =
    if (retried(version)) another(version) else s"$version"

  private def another(version: Long): String = s"another $version"

  private def commitId(name: String): UUID = UUID.nameUUIDFromBytes(name.getBytes)

  def target(version: Long, fromMemory: Boolean = false): SnapshotTarget =
    SnapshotTarget(Attempt(version), None, Option.when(fromMemory)(memory(version)))

  /** What the runs of a manifest hold. */
  def contentOf(manifest: Manifest): Map[String, String] =
    Runs
      .drain(runs.readers.scanAll(manifest.runs, dropRemovals = true))
      .iterator
      .map { case (place, value) =>
        val key = new String(Runs.keyOf(place))
        (if (place._1 == 0) key else s"${place._1}/$key") -> new String(
          value.getOrElse(Nil).toArray
        )
      }
      .toMap

  def close(): Unit = runs.close()

  private def bucketOf(key: String): Int = {
    val bytes = bytesOf(key)
    assigner.bucket(assigner.hash(bytes, 0, bytes.length))
  }

  private def memory(version: Long): BucketSource = new BucketSource {
    def families: Iterable[Int] = 0 until familyCount
    def read(family: Int, bucket: Int, sink: io.bucketstate.record.RecordSink): Unit =
      model(version).foreach { case (key, value) =>
        if (familyOf(key) == family && bucketOf(key) == bucket) {
          sink(Record.of(bytesOf(key), value.getBytes), RecordOp.Put)
        }
      }
  }
}

object SnapshotRoom {

  /**
   * The manifest that a history of changes to three families leads to, in files by bucket. Snapshots are not made each
   * time: some runs are of one version and some of several.
   */
  def withHistory(folder: Path, history: Seq[Map[String, Option[String]]])(
      body: (SnapshotRoom, Manifest) => Unit
  ): Unit = Using.resource(
    new SnapshotRoom(new MemoryFileStore, folder, maxFileBytes = 1, familyCount = 3)
  ) { room =>
    var manifest: Manifest = null
    history.zipWithIndex.foreach { case (changes, n) =>
      val there = room.model(room.newest)
      room.commit(changes.filter { case (k, v) => v.isDefined || there.contains(k) }.toSeq: _*)
      if (n % 3 != 1 || n == history.size - 1)
        manifest = room.snapshotter.take(room.target(room.newest)).manifest
    }
    body(room, manifest)
  }

  /** What there is after changes; the removal of a key that is not there is none. */
  def after(
      model: Map[String, String],
      changes: Iterable[(String, Option[String])]
  ): Map[String, String] = changes.foldLeft(model) { case (before, (key, value)) =>
    opOf(value) match {
      case (RecordOp.Merge, more) => before.updated(key, before.getOrElse(key, "") + more)
      case (RecordOp.Put, text)   => before.updated(key, text)
      case _                      => before.removed(key)
    }
  }

  /** The family that a key is of, and the key in it. */
  def placeOf(key: String): (Int, String) = key match {
    case OfFamily(family, own) => (family.toInt, own)
    case _                     => (0, key)
  }

  /** What becomes of a key, and the bytes of that. */
  def opOf(value: Option[String]): (Byte, String) = value match {
    case None                              => (RecordOp.Remove, "")
    case Some(StoreHarness.Appended(more)) => (RecordOp.Merge, more)
    case Some(text)                        => (RecordOp.Put, text)
  }

  private val OfFamily = "([0-9]+)/(.*)".r

  private def familyOf(key: String): Int = placeOf(key)._1

  private def bytesOf(key: String): Array[Byte] = placeOf(key)._2.getBytes
}
