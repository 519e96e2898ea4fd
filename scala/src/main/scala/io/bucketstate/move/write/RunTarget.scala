package io.bucketstate.move.write

import java.util.{Arrays, UUID}

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path

import io.bucketstate.checkpoint.io.{Attempt, FileStores}
import io.bucketstate.checkpoint.manifest.{Manifest, ManifestFamily, Manifests}
import io.bucketstate.checkpoint.records.RecordCursor
import io.bucketstate.checkpoint.run.VersionSpan
import io.bucketstate.config.StoreConfig
import io.bucketstate.error.{ConflictException, CorruptException}
import io.bucketstate.move.read.OwnRecords
import io.bucketstate.record.{
  BucketAssigner,
  FamilyDescriptor,
  Record,
  RecordOp,
  TimeBuckets,
  TimedValue
}

/**
 * A column family of a store that is written.
 *
 * @param times of the family in its sources, where its records have times: all but the counts
 */
private[move] final case class TargetFamily(
    descriptor: FamilyDescriptor,
    keySchema: String,
    valueSchema: String,
    times: Option[TimeBuckets]
)

/**
 * Writes a state into a store of this project, as a version that stands alone: runs, which nobody sees until their manifest
 * is published.
 */
private[move] final class RunTarget(
    families: Seq[TargetFamily],
    numBuckets: Int,
    version: Long,
    hasIds: Boolean,
    config: StoreConfig,
    hadoop: Configuration
) {

  /**
   * @param storeId as users know the store
   * @param rows    places and values, in the order of the places
   */
  def write(storeId: String, folder: Path, rows: Iterator[(Array[Byte], Array[Byte])]): Manifest = {
    val files = FileStores.forFolder(folder, hadoop, config.objectStores)
    try {
      files.createFolder()
      val runs = OwnRecords.access(files, config)
      try {
        val cursor = new PlacedCursor(rows, families)
        val run = runs.writer.write(VersionSpan(1L, version), cursor, oldest = true)
        Manifest(
          storeId,
          version,
          numBuckets,
          BucketAssigner.HashName,
          families.map(cursor.manifestOf),
          Seq(run),
          commitId = Some(UUID.randomUUID()),
          checkpointId = Option.when(hasIds)(UUID.randomUUID().toString),
          nextFamily = Some(families.size)
        )
      } finally runs.close()
    } finally files.close()
  }
}

private[move] object RunTarget {

  /**
   * Makes what was written the state of its store. Throws `ConflictException` where the version is there already: another
   * move has made it.
   *
   * @param isInPlace whether a query has written to the folder before
   */
  def publish(
      manifest: Manifest,
      folder: Path,
      isInPlace: Boolean,
      config: StoreConfig,
      hadoop: Configuration
  ): Unit = {
    val files = FileStores.forFolder(folder, hadoop, config.objectStores)
    try {
      // Of an attempt that came to nothing: beside it the manifest would be taken for one that was replaced.
      if (isInPlace) files.delete(Attempt(manifest.version).changelog)
      val manifests = new Manifests(files)
      val name = manifest.file.name
      // An answer may have got lost: then what is there is its own.
      val isTaken = (files.exists(name) || !manifests.writeNew(manifest)) &&
        manifests.read(manifest.file).commitId != manifest.commitId
      if (isTaken) {
        throw new ConflictException(
          s"${files.location}/$name is there already: another move runs on this checkpoint",
          "Let that one come to its end."
        )
      }
    } finally files.close()
  }
}

/** Sorted places and values as the records of a run, with their counts. Not thread-safe. */
private[move] final class PlacedCursor(
    rows: Iterator[(Array[Byte], Array[Byte])],
    families: Seq[TargetFamily]
) extends RecordCursor {
  private[this] val counts = new Array[Long](families.size)
  private[this] val byTime =
    families.map(_.times.map(_ => mutable.TreeMap.empty[Long, Long])).toArray
  private[this] val untimed = new Array[Long](families.size)
  private[this] var place: Array[Byte] = _
  private[this] var current: Array[Byte] = _

  override def advance(): Boolean = rows.hasNext && {
    val (next, value) = rows.next()
    if (place != null && Arrays.equals(place, next)) {
      throw new CorruptException(
        s"Column family '${families(Place.family(next)).descriptor.name}' of the state",
        "a key came twice",
        "The checkpoint that is read has a key in two partitions; bucketstate verify, or Spark's state reader, shows which."
      )
    }
    place = next
    current = Record.of(Arrays.copyOfRange(next, Place.Header, next.length), value)
    count()
    true
  }

  private def count(): Unit = {
    counts(family) += 1
    byTime(family).foreach { times =>
      val start = TimedValue.startOf(current)
      if (start == TimedValue.Untimed) untimed(family) += 1
      else times.updateWith(start)(n => Some(n.getOrElse(0L) + 1))
    }
  }

  override def family: Int = Place.family(place)

  override def bucket: Int = Place.bucket(place)

  override def record: Array[Byte] = current

  override def op: Byte = RecordOp.Put

  override def close(): Unit = ()

  /** What the manifest says of a family, when all was taken. */
  def manifestOf(target: TargetFamily): ManifestFamily = {
    val number = target.descriptor.id
    val times = target.times.map { t =>
      val keys = byTime(number).get
      t.copy(
        untimedKeys = untimed(number),
        keys = scala.collection.immutable.SortedMap.from(keys)
      )
    }
    ManifestFamily(
      target.descriptor,
      Some(counts(number)),
      Some(target.keySchema),
      Some(target.valueSchema),
      times
    )
  }
}
