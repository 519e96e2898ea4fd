package io.bucketstate.checkpoint.run

/** Versions from `first` to `last`, both included. */
final case class VersionSpan(first: Long, last: Long) {
  override def toString: String = s"$first to $last"
}

/** Buckets of one family from `first` to `last`, both included. */
final case class BucketSpan(family: Int, first: Int, last: Int) {
  def holds(bucket: Int): Boolean = first <= bucket && bucket <= last

  def overlaps(other: BucketSpan): Boolean =
    family == other.family && first <= other.last && other.first <= last

  override def toString: String = s"$first to $last of column family $family"
}

/** Time buckets, by their starts, from `first` to `last`, both included. */
final case class TimeSpan(first: Long, last: Long) {
  def overlaps(other: TimeSpan): Boolean = first <= other.last && other.first <= last
}

/**
 * One data file as the manifest knows it.
 *
 * @param name       relative to the store's folder, made by [[io.bucketstate.checkpoint.io.CheckpointFiles]]
 * @param bytes      its length
 * @param entries    keys in it, tombstones included
 * @param tombstones keys in it that were removed
 * @param buckets    what it may hold: for each family in it the first and last bucket it has keys of
 * @param checksum   CRC32C of the whole file
 * @param times      of its entries but removals, where all have times
 */
final case class RunFile(
    name: String,
    bytes: Long,
    entries: Long,
    tombstones: Long,
    buckets: Seq[BucketSpan],
    checksum: Int,
    times: Option[TimeSpan] = None
) {
  def overlaps(span: BucketSpan): Boolean = buckets.exists(_.overlaps(span))

  def overlaps(other: RunFile): Boolean = buckets.exists(other.overlaps)

  /** Whether no record can be in both because of the time it has. */
  def isApartInTime(other: RunFile): Boolean = (times, other.times) match {
    case (Some(own), Some(its)) => !own.overlaps(its)
    case (own, its)             => own.isDefined != its.isDefined
  }

  /** Whether it may hold keys of that bucket. */
  def holds(family: Int, bucket: Int): Boolean =
    buckets.exists(b => b.family == family && b.holds(bucket))
}

/**
 * The merged changes of a span of versions, in files that share no bucket of a family but by slices of time; no key is
 * in two of them. Where spans of buckets were merged, some of its files have what newer versions changed there, too, and
 * the newer runs have none. A run without files is one of versions that changed nothing, or all of which has expired or
 * was merged.
 */
final case class Run(versions: VersionSpan, files: Seq[RunFile]) {
  def bytes: Long = files.iterator.map(_.bytes).sum
  def entries: Long = files.iterator.map(_.entries).sum
  def tombstones: Long = files.iterator.map(_.tombstones).sum
}

object Run {

  /**
   * The runs, newest first, without those that have no files: their versions go to the next older run. The oldest stays,
   * because nothing but it is without tombstones.
   */
  def folded(newestFirst: Seq[Run]): Seq[Run] = newestFirst.foldRight(List.empty[Run]) {
    case (run, next :: older) if run.files.isEmpty =>
      next.copy(versions = VersionSpan(next.versions.first, run.versions.last)) :: older
    case (run, older) => run :: older
  }
}
