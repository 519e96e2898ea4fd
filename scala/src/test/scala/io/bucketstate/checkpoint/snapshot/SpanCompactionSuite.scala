package io.bucketstate.checkpoint.snapshot

import java.util.concurrent.CancellationException

import scala.collection.mutable.ArrayBuffer
import scala.util.{Random, Using}

import org.scalatest.tags.Slow

import io.bucketstate.background.WorkGate
import io.bucketstate.checkpoint.io.{Attempt, CheckpointFiles, FileStore, ManifestName}
import io.bucketstate.checkpoint.manifest.{Manifest, Manifests}
import io.bucketstate.checkpoint.run.Run
import io.bucketstate.testkit.{MemoryFileStore, Seeds, SnapshotRoom, TempFolder, TidySuite}

/** States that are merged by spans of buckets, because they are larger than what is merged at a time. */
@Slow
class SpanCompactionSuite extends TidySuite {

  /** Counts the records that are gone over. */
  private final class Counting extends WorkGate {
    var records = 0L
    def begin(more: Long): Unit = ()
    def pass(): Unit = records += 1
  }

  /** Removals of what is not there are no changes; each key once, as in a changelog. */
  private def commit(room: SnapshotRoom, random: Random, keys: Int): Long = {
    val now = room.model(room.newest)
    val changes = Seq
      .fill(1 + random.nextInt(12)) {
        val family = random.nextInt(3)
        val key =
          if (family == 0) s"key-${random.nextInt(keys)}" else s"$family/${random.nextInt(keys)}"
        val value = s"${random.nextInt(1000)};"
        key -> (random.nextInt(4) match {
          case 0                => None
          case 1 if family == 2 => Some(s"+$value")
          case _                => Some(value)
        })
      }
      .toMap
      .toSeq
    room.commit(changes.filter { case (k, v) => v.isDefined || now.contains(k) }: _*)
  }

  private def manifests(store: FileStore): Seq[Manifest] =
    store.list().flatMap(f => CheckpointFiles.parse(f.name)).collect { case m: ManifestName =>
      new Manifests(store).read(m)
    }

  private def requireRight(room: SnapshotRoom, manifest: Manifest): Unit =
    assert(room.contentOf(manifest) == room.model(manifest.version), manifest.file.name)

  /** What is said to be a number of keys is one; returns how many families have none. */
  private def requireCounted(room: SnapshotRoom, of: Manifest): Int = {
    for {
      family <- of.families
      count <- of.lastCount(family.descriptor.id)
    } assert(count.keys == room.keyCount(count.version, family.descriptor.id))
    of.families.count(_.keyCount.isEmpty)
  }

  /** The most runs that any bucket has to be read from. */
  private def depth(runs: Seq[Run]): Int = {
    val places = for {
      run <- runs
      (family, bucket) <- run.files
        .flatMap(_.buckets)
        .flatMap(b => (b.first to b.last).map(b.family -> _))
        .distinct
    } yield (family, bucket)
    places.groupBy(identity).values.map(_.size).maxOption.getOrElse(0)
  }

  for (seed <- 1 to Seeds.of(5))
    test(s"whenever spans are merged, the runs hold the state of their version, seed $seed") {
      val random = new Random(seed.toLong)
      val store = new MemoryFileStore
      def isCounted(version: Long) = seed % 2 > 0 || version % 3 == 0
      TempFolder.use { folder =>
        val room = new SnapshotRoom(
          store,
          folder,
          maxRuns = 1 + random.nextInt(4),
          maxFileBytes = if (random.nextBoolean()) 1L else Long.MaxValue,
          counts = isCounted,
          maxMergeBytes = Seq(1L, 1000L, 3000L)(random.nextInt(3)),
          numBuckets = 1 + random.nextInt(20),
          familyCount = 3
        )
        Using.resource(room) { _ =>
          // Much below what comes later, so that the oldest levels are mostly left out of merges.
          val first = (0 until 60).flatMap(n => Seq(s"key-$n", s"1/$n", s"2/$n"))
          room.commit(first.map(_ -> Some(random.alphanumeric.take(800).mkString)): _*)
          var snapshotter = room.snapshotter
          val waiting = ArrayBuffer.empty[Compaction]
          val besides = random.nextInt(11)
          for (_ <- 1 to 50) {
            (0 to random.nextInt(3)).foreach(_ => commit(room, random, 60))
            val target = room.target(room.newest, fromMemory = random.nextBoolean())
            // A snapshot in the midst of a compaction takes over the spans that are done.
            if (waiting.nonEmpty && random.nextInt(2) == 0) {
              val stop = random.nextInt(30)
              val within = new WorkGate {
                var records = 0
                def begin(more: Long): Unit = ()
                def pass(): Unit = {
                  records += 1
                  if (records == stop) {
                    waiting ++= snapshotter.take(target, compactsBeside = true).compaction
                    ()
                  }
                }
              }
              val compaction = waiting.remove(0)
              try compaction.run(within)
              catch { case _: CancellationException => () }
              compaction.counted.foreach { case (family, count) =>
                assert(count.keys == room.keyCount(count.version, family))
              }
            }
            if (!store.exists(ManifestName(Attempt(room.newest)).name)) {
              val beside = random.nextInt(10) < besides
              val report = snapshotter.take(target, compactsBeside = beside)
              waiting ++= report.compaction
            }
            requireRight(room, new Manifests(store).read(ManifestName(Attempt(room.newest))))
            if (random.nextInt(10) == 0) {
              snapshotter.discard()
              val maxBytes = Seq(1L, 20000L, 60000L, Long.MaxValue)(random.nextInt(4))
              snapshotter = room.newSnapshotter(maxBytes)
              waiting.clear()
            }
          }
          manifests(store).foreach(requireRight(room, _))
          val uncounted = manifests(store).map(requireCounted(room, _)).sum
          assert(uncounted > 0 == (seed % 2 == 0))
          snapshotter.discard()
          assert(snapshotter.inFlight.isEmpty)
          val named = manifests(store).flatMap(_.fileNames).toSet
          assert(store.list("runs").map(_.name).toSet == named)
        }
      }
    }

  /** Lets a large state be changed evenly: hands each snapshot's manifest on, with the records gone over for it. */
  private def changedEvenly(maxRuns: Int, runs: Compaction => Boolean, beside: Boolean)(
      check: (Manifest, Long, Option[Long]) => Any
  ): Unit = TempFolder.use { folder =>
    val store = new MemoryFileStore
    val room =
      new SnapshotRoom(store, folder, maxRuns, maxMergeBytes = 12000L, numBuckets = 64)
    Using.resource(room) { _ =>
      room.commit((1 to 3000).map(i => s"key-$i" -> Some(s"first $i")): _*)
      room.snapshotter.take(room.target(1))
      val random = new Random(5)
      for (n <- 1 to 90) {
        val keys = Seq.fill(60)(s"key-${1 + random.nextInt(3000)}").distinct
        room.commit(keys.map(_ -> Some(s"${random.nextLong()}")): _*)
        val inside = new Counting
        val report =
          room.snapshotter.take(room.target(room.newest), gate = inside, compactsBeside = beside)
        val gone = report.compaction.filter(runs).map { compaction =>
          val counting = new Counting
          compaction.run(counting)
          counting.records
        }
        if (n % 30 == 0) requireRight(room, report.manifest)
        check(report.manifest, inside.records, gone)
      }
    }
  }

  test(
    "a compaction goes over some spans of the state, never over all of it, and a snapshot over none"
  ) {
    val all = ArrayBuffer.empty[Long]
    var deepest = 0
    changedEvenly(maxRuns = 6, runs = _ => true, beside = true) { (manifest, inside, gone) =>
      assert(inside <= 61)
      all ++= gone
      deepest = math.max(deepest, depth(manifest.runs))
    }
    val mean = all.sum.toDouble / all.size
    info(
      f"${all.size} compactions of 3000 keys: $mean%.0f records, at most ${all.max}; $deepest levels"
    )
    assert(all.size > 30)
    assert(all.max <= 3000 / 2)
    assert(deepest <= 2 * 6)
  }

  test(
    "snapshots that merge themselves go over some spans each, and keep no more runs of a bucket"
  ) {
    var most = 0L
    changedEvenly(maxRuns = 6, runs = _ => true, beside = false) { (manifest, inside, gone) =>
      assert(gone.isEmpty)
      most = math.max(most, inside)
      assert(depth(manifest.runs) <= 6)
    }
    assert(most <= 3000 / 2)
  }

  test("compactions that never run do not let the runs pile up, and no snapshot goes over all") {
    var most = 0L
    changedEvenly(maxRuns = 4, runs = _ => false, beside = true) { (manifest, inside, _) =>
      most = math.max(most, inside)
      assert(depth(manifest.runs) <= 2 * 4 + 1)
    }
    assert(most <= 3000 / 2)
  }
}
