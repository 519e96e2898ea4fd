package io.bucketstate.checkpoint.manifest

import io.bucketstate.checkpoint.io.{CheckpointFiles, RunName}
import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.checkpoint.run.{Run, RunFile}
import io.bucketstate.config.ConfigKey

/** Something that must be true of every manifest, by name, and whether it is of one. */
final case class ManifestInvariant(name: String, holds: Boolean)

/**
 * What a manifest promises. Checked before one is written and after one was read, because what breaks
 * one of these would load as wrong state without anybody noticing.
 */
object ManifestInvariants {

  /** Values and not predicates: each predicate would be a class more to load before a restart's first get. */
  def of(m: Manifest): Seq[ManifestInvariant] = {
    val files = m.runs.flatMap(_.files)
    val spans = files.flatMap(_.buckets)
    Seq(
      ManifestInvariant("the version is 1 or above", m.version >= 1),
      ManifestInvariant("there is a run", m.runs.nonEmpty),
      ManifestInvariant(
        "the newest run ends at the version",
        m.runs.isEmpty || m.runs.head.versions.last == m.version
      ),
      ManifestInvariant(
        "the oldest run starts at version 1",
        m.runs.isEmpty || m.runs.last.versions.first == 1
      ),
      ManifestInvariant(
        "no run ends before it starts",
        m.runs.forall(r => r.versions.first <= r.versions.last)
      ),
      ManifestInvariant(
        "each run starts where the next older one ends",
        m.runs.zip(m.runs.drop(1)).forall { case (newer, older) =>
          newer.versions.first == older.versions.last + 1
        }
      ),
      ManifestInvariant(
        "the oldest run has no tombstones",
        m.runs.isEmpty || m.runs.last.tombstones == 0
      ),
      ManifestInvariant(
        "the number of buckets fits a run's keys",
        m.numBuckets >= 1 && m.numBuckets <= ConfigKey.MostBuckets
      ),
      ManifestInvariant(
        "every bucket is one of the store's",
        spans.forall(b => 0 <= b.first && b.first <= b.last && b.last < m.numBuckets)
      ),
      ManifestInvariant(
        "every file says which buckets it has, each family once",
        files.forall(f => f.buckets.nonEmpty && distinct(f.buckets.map(_.family)))
      ),
      ManifestInvariant(
        "the files of a run share no bucket of a family but by slices of time",
        m.runs.forall(isDisjoint)
      ),
      ManifestInvariant(
        "every bucket's family is or was one of the store's",
        spans.forall(_.family < m.firstFreeFamily)
      ),
      ManifestInvariant(
        "every family has a number that was given out",
        m.families.forall(_.descriptor.id < m.firstFreeFamily)
      ),
      ManifestInvariant(
        "every family is described once",
        distinct(m.families.map(_.descriptor.id))
      ),
      ManifestInvariant(
        "no file has fewer entries than tombstones, or none",
        files.forall(f => f.entries >= 1 && f.tombstones >= 0 && f.tombstones <= f.entries)
      ),
      ManifestInvariant(
        "no key count is negative or more than the runs can hold",
        m.families.forall(_.keyCount.forall(_ >= 0)) &&
          m.families.iterator.flatMap(_.keyCount).sum <=
          files.iterator.map(f => f.entries - f.tombstones).sum
      ),
      ManifestInvariant(
        "an older count is of an older version, and stands where there is none of this one",
        m.families.forall { f =>
          f.lastCount.forall(c => f.keyCount.isEmpty && c.version < m.version && c.keys >= 0)
        }
      ),
      ManifestInvariant(
        "a family has time buckets if its values have times, and only then",
        m.families.forall(f => f.times.isDefined == FamilyEncodings.isTimed(f.descriptor))
      ),
      ManifestInvariant(
        "no time bucket that holds keys has expired",
        m.families.forall(_.times.forall(_.isLiving))
      ),
      ManifestInvariant(
        "a family's time buckets hold as many keys as it has",
        m.families.forall(f => f.times.forall(t => f.keyCount.contains(t.keyCount)))
      ),
      ManifestInvariant("no file is named twice", distinct(files.map(_.name))),
      ManifestInvariant(
        "every file has the name of a run's file of a version up to this one",
        files.forall(isNamed(_, m.version))
      )
    )
  }

  /** The names of those that do not hold. */
  def broken(manifest: Manifest): Seq[String] = of(manifest).filterNot(_.holds).map(_.name)

  private def isDisjoint(run: Run): Boolean = {
    val spans = run.files
      .flatMap(file => file.buckets.map(_ -> file))
      .sortBy { case (b, _) =>
        (b.family, b.first)
      }
      .toIndexedSeq
    spans.indices.forall { i =>
      val (span, file) = spans(i)
      spans.iterator.drop(i + 1).takeWhile(_._1.overlaps(span)).forall(_._2.isApartInTime(file))
    }
  }

  private def isNamed(file: RunFile, latest: Long): Boolean =
    CheckpointFiles.parse(file.name) match {
      case Some(RunName(version, _, _)) => version <= latest
      case _                            => false
    }

  private def distinct[A](items: Seq[A]): Boolean = items.distinct.size == items.size
}
