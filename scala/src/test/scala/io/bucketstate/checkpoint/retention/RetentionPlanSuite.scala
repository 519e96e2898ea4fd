package io.bucketstate.checkpoint.retention

import java.time.{Duration, Instant}
import java.util.UUID

import scala.collection.immutable.TreeMap
import scala.collection.mutable
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.tags.Slow

import io.bucketstate.checkpoint.io.{Attempt, ListedFile, ManifestName, RunName}
import io.bucketstate.checkpoint.recovery.RecoveryPlan
import io.bucketstate.checkpoint.run.{Run, RunFile, VersionSpan}
import io.bucketstate.checkpoint.snapshot.CompactionPlan

/** Random histories of snapshots, merges, losing attempts and retention, over file names alone. */
@Slow
class RetentionPlanSuite extends AnyFunSuite {
  private val start = Instant.parse("2020-01-01T00:00:00Z")

  private final class History(random: Random, ids: Boolean) {
    private val files = mutable.LinkedHashMap.empty[String, ListedFile]
    private val manifests = mutable.Map.empty[ManifestName, List[Run]]
    private val damaged = mutable.Set.empty[String]
    private val winners = mutable.Map.empty[Long, String]
    private var runs: List[Run] = Nil
    private var covered = 0L
    private var latest = 0L
    private var now = start
    private var inFlight = Set.empty[String]
    private var promised = 1L
    private val rules = RetentionRules(
      minVersionsToRetain = 1 + random.nextInt(12),
      maxVersionsToDelete = Seq(-1, 1, 3, 10)(random.nextInt(4))
    )
    private val maxRuns = 1 + random.nextInt(6)

    private def uuid() = new UUID(random.nextLong(), random.nextLong())
    private def put(name: String): Unit = files(name) = ListedFile(name, 1, now.toEpochMilli)

    private def batch(): Unit = {
      latest += 1
      val id = Option.when(ids)(uuid().toString)
      id.foreach(winners(latest) = _)
      put(Attempt(latest, id).changelog)
      // An attempt that lost, and what it left.
      if (ids && random.nextInt(4) == 0) {
        val loser = Some(uuid().toString)
        put(Attempt(latest, loser).changelog)
        if (random.nextBoolean()) {
          val manifest = ManifestName(Attempt(latest, loser))
          put(manifest.name)
          manifests(manifest) = newRun(latest, 100) :: runs
        }
      }
    }

    private def newRun(last: Long, bytes: Long): Run = {
      val name = RunName(last, 0, uuid()).name
      put(name)
      Run(VersionSpan(1, last), Seq(RunFile(name, bytes, 1, 0, Nil, 0)))
    }

    private def snapshot(): Unit = {
      val live = 50L + random.nextInt(2000)
      val version = covered + 1 + random.nextInt((latest - covered).toInt)
      val left = CompactionPlan(10L + random.nextInt(50), runs.map(_.bytes), live, maxRuns) match {
        case CompactionPlan.Append   => runs
        case CompactionPlan.Merge(n) => runs.drop(n)
        case CompactionPlan.Rewrite  => Nil
      }
      val run = newRun(version, 10L + random.nextInt(500))
      if (random.nextInt(5) == 0)
        inFlight = Set(run.files.head.name) // uploaded, published later or never
      else {
        val manifest = ManifestName(Attempt(version, winners.get(version)))
        put(manifest.name)
        runs = run :: left
        manifests(manifest) = runs
        covered = version
        inFlight = Set.empty
        assert(runs.size <= maxRuns)
        // A manifest at the end of the window, and a run too, may be damaged or lost.
        if (random.nextInt(12) == 0) damaged += manifest.name
      }
    }

    private def retain(): Unit = {
      val known = manifests.keySet.filter(m => files.contains(m.name)).map { m =>
        val names = manifests(m).flatMap(_.files).map(_.name).toSet
        KnownManifest(m, Option.when(!damaged(m.name))(names))
      }
      val seen = known.filter(_ => random.nextInt(10) > 0)
      val plan =
        RetentionPlan(
          files.values,
          seen,
          latest,
          rules,
          now,
          inFlight,
          WinningIds(TreeMap.from(winners))
        )
      val gone = plan.map(_.name).toSet
      assert(gone.size == plan.size && gone.forall(files.keySet) && !gone.exists(inFlight))
      files --= gone
      assert(latest == 0 || files.contains(Attempt(latest, winners.get(latest)).changelog))
      promised = math.max(promised, rules.oldest(latest))
    }

    /** Some manifest that is sound and of the history, and all changelogs after it. */
    private def isLoadable(version: Long): Boolean = {
      val bases = manifests.keys.filter { m =>
        m.version <= version && files.contains(m.name) && !damaged(m.name) &&
        m.checkpointId == winners.get(m.version) &&
        manifests(m).flatMap(_.files).forall(f => files.contains(f.name))
      }
      def has(v: Long) = files.contains(Attempt(v, winners.get(v)).changelog)
      val plan = RecoveryPlan.to(version, bases.map(_.version), Nil, 100, has)
      plan.bases.exists(base => (base + 1 to version).forall(has))
    }

    def step(): Unit = {
      now = now.plus(Duration.ofMinutes(random.nextInt(60).toLong))
      random.nextInt(6) match {
        case 0 if latest > covered => snapshot()
        case 1                     => retain()
        case _                     => batch()
      }
      for (version <- math.max(1L, promised) to latest)
        assert(isLoadable(version), s"version $version of $promised to $latest cannot be loaded")
      for {
        (manifest, named) <- manifests
        // What was whole stays whole as long as its manifest does.
        if files.contains(manifest.name) && !damaged(manifest.name)
        file <- named.flatMap(_.files)
      } if (!files.contains(file.name))
        fail(s"${manifest.name} names ${file.name}, which was deleted")
    }

    def finish(): Int = {
      now = now.plus(Duration.ofDays(1))
      for (_ <- 1 to 400) retain()
      files.size
    }
  }

  for {
    ids <- Seq(false, true)
    seed <- 1 to 40
  } test(s"every retained version stays loadable, ids=$ids, seed $seed") {
    val history = new History(new Random(seed.toLong), ids)
    for (_ <- 1 to 300) history.step()
  }

  private val old = start.minus(Duration.ofDays(1)).toEpochMilli
  private val young = start.minus(Duration.ofMinutes(59)).toEpochMilli
  private def file(name: String, at: Long = old) = ListedFile(name, 1, at)
  private def run(version: Long, n: Int) =
    RunName(version, 0, UUID.nameUUIDFromBytes(Array(n.toByte))).name
  private def manifest(version: Long) = ManifestName(Attempt(version))
  private def plan(
      files: Seq[ListedFile],
      known: Seq[(Long, Option[Set[String]])],
      rules: RetentionRules = RetentionRules(2),
      inFlight: Set[String] = Set.empty,
      winners: WinningIds = WinningIds.WithoutIds
  ) = RetentionPlan(
    files,
    known.map { case (v, names) => KnownManifest(manifest(v), names) },
    latest = 20,
    rules,
    start,
    inFlight,
    winners
  ).map(_.name)

  private val (a, b, c) = (run(5, 1), run(10, 2), run(15, 3))
  private val folder = Seq(a, b, c, "5.manifest", "10.manifest", "15.manifest").map(file(_))
  private val known = Seq[(Long, Option[Set[String]])](15L -> Some(Set(b, c)))

  test("a run goes when no manifest that stays names it, and the manifests below the base with it") {
    assert(plan(folder, known).toSet == Set(a, "5.manifest", "10.manifest"))
  }

  test("a run of an upload in flight, or too young to be an orphan, stays (SPARK-55892)") {
    assert(!plan(folder, known, inFlight = Set(a)).contains(a))
    val fresh = folder.map(f => if (f.name == a) f.copy(modifiedAt = young) else f)
    assert(!plan(fresh, known).contains(a))
  }

  test("while a manifest that stays cannot be read no run goes, and it is no base") {
    assert(plan(folder, Seq(15L -> None, 10L -> Some(Set(a, b)))) == Seq("5.manifest"))
  }

  test("a manifest that misses a file is no base") {
    val without = folder.filterNot(_.name == c)
    assert(plan(without, known :+ (10L -> Some(Set(a, b)))) == Seq("5.manifest"))
  }

  test("orphans of failed attempts go in the end (SPARK-42353)") {
    val orphan = run(12, 9)
    assert(plan(folder :+ file(orphan), known).contains(orphan))
  }

  test("the files of only so many versions go at once, the oldest first (SPARK-53794)") {
    val logs = (1 to 12).map(v => file(s"$v.changelog"))
    val two = RetentionRules(2, maxVersionsToDelete = 2)
    assert(plan(folder ++ logs, known, two).toSet == Set("1.changelog", "2.changelog"))
    val five = RetentionRules(2, maxVersionsToDelete = 5)
    val rest = plan(folder ++ logs.drop(4), known, five)
    assert(rest.toSet == Set("5.manifest") ++ (5 to 9).map(v => s"$v.changelog"))
  }

  test("losing attempts below the window go, those in it and those of unknown history stay") {
    val winners = WinningIds(TreeMap(17L -> "w", 18L -> "w", 19L -> "w"))
    val names = Seq(
      "17_x.changelog",
      "17_w.changelog",
      "18_x.manifest",
      "18_w.manifest",
      "19_x.changelog",
      "16_x.changelog"
    )
    assert(
      plan(names.map(file(_)), Nil, winners = winners).toSet == Set(
        "17_x.changelog",
        "18_x.manifest"
      )
    )
    assert(plan(names.map(file(_, young)), Nil, winners = winners).isEmpty)
  }

  test("recovery goes back from manifest to manifest as far as the changelogs reach") {
    def bases(from: Long) = RecoveryPlan.to(20, Seq(5, 15, 10, 25), Nil, 100, _ >= from).bases
    assert(bases(1) == Seq(15, 10, 5, 0))
    assert(bases(11) == Seq(15, 10))
    assert(bases(12) == Seq(15))
    assert(bases(18) == Seq(15))
    assert(RecoveryPlan.to(3, Nil, Nil, 100, _ => true).bases == Seq(0))
  }
}
