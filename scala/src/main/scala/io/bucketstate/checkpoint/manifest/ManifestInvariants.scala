package io.bucketstate.checkpoint.manifest

import io.bucketstate.checkpoint.io.{CheckpointFiles, RunName}
import io.bucketstate.checkpoint.run.{RunFile, RunFormat}

/** Something that must be true of every manifest, by name. */
final case class ManifestInvariant(name: String, holds: Manifest => Boolean)

/**
 * What a manifest promises. Checked before one is written and after one was read, because what breaks
 * one of these would load as wrong state without anybody noticing.
 */
object ManifestInvariants {

  private def must(what: String)(holds: Manifest => Boolean): ManifestInvariant =
    ManifestInvariant(what, holds)

  private def files(m: Manifest): Seq[RunFile] = m.runs.flatMap(_.files)

  val every: Seq[ManifestInvariant] = Seq(
    must("the version is 1 or above")(_.version >= 1),
    must("there is a run")(_.runs.nonEmpty),
    must("the newest run ends at the version")(m =>
      m.runs.headOption.forall(_.versions.last == m.version)
    ),
    must("the oldest run starts at version 1")(_.runs.lastOption.forall(_.versions.first == 1)),
    must("no run ends before it starts")(_.runs.forall(r => r.versions.first <= r.versions.last)),
    must("each run starts where the next older one ends") { m =>
      m.runs.zip(m.runs.drop(1)).forall { case (newer, older) =>
        newer.versions.first == older.versions.last + 1
      }
    },
    must("the oldest run has no tombstones")(_.runs.lastOption.forall(_.tombstones == 0)),
    must("the number of buckets fits a run's keys") { m =>
      m.numBuckets >= 1 && m.numBuckets <= RunFormat.MaxBucket + 1
    },
    must("every bucket is one of the store's") { m =>
      files(m)
        .flatMap(_.buckets)
        .forall(b => 0 <= b.first && b.first <= b.last && b.last < m.numBuckets)
    },
    must("every file says which buckets it has, each family once") { m =>
      files(m).forall(f => f.buckets.nonEmpty && distinct(f.buckets.map(_.family)))
    },
    must("the files of a run share no bucket of a family") { m =>
      m.runs.forall { run =>
        val spans = run.files.flatMap(_.buckets).sortBy(b => (b.family, b.first))
        spans.zip(spans.drop(1)).forall { case (a, b) => !a.overlaps(b) }
      }
    },
    must("every bucket's family is or was one of the store's") { m =>
      files(m).flatMap(_.buckets).forall(_.family < m.firstFreeFamily)
    },
    must("every family has a number that was given out") { m =>
      m.families.forall(_.descriptor.id < m.firstFreeFamily)
    },
    must("every family is described once")(m => distinct(m.families.map(_.descriptor.id))),
    must("no file has fewer entries than tombstones, or none") { m =>
      files(m).forall(f => f.entries >= 1 && f.tombstones >= 0 && f.tombstones <= f.entries)
    },
    must("no key count is negative or more than the runs can hold") { m =>
      val most = files(m).iterator.map(f => f.entries - f.tombstones).sum
      m.families.forall(_.keyCount >= 0) && m.keys <= most
    },
    must("no file is named twice")(m => distinct(files(m).map(_.name))),
    must("every file has the name of a run's file of a version up to this one") { m =>
      files(m).forall { f =>
        CheckpointFiles.parse(f.name) match {
          case Some(RunName(version, _, _)) => version <= m.version
          case _                            => false
        }
      }
    }
  )

  /** The names of those that do not hold. */
  def broken(manifest: Manifest): Seq[String] = every.filterNot(_.holds(manifest)).map(_.name)

  private def distinct[A](items: Seq[A]): Boolean = items.distinct.size == items.size
}
