package io.bucketstate.checkpoint.retention

import java.time.{Duration, Instant}
import java.util.UUID

import scala.collection.immutable.TreeMap
import scala.collection.mutable
import scala.util.Random

import org.scalatest.tags.Slow

import io.bucketstate.checkpoint.io.{
  Attempt,
  CheckpointFiles,
  ListedFile,
  ManifestName,
  RunName,
  VersionedFile
}
import io.bucketstate.checkpoint.recovery.RecoveryPlan
import io.bucketstate.checkpoint.run.{Run, RunFile, VersionSpan}
import io.bucketstate.checkpoint.snapshot.CompactionPlan
import io.bucketstate.testkit.{Seeds, TidySuite}

/** Random histories of snapshots, merges, losing attempts, retention and pinned versions, over file names alone. */
@Slow
class RetentionPlanSuite extends TidySuite {
  private val start = Instant.parse("2020-01-01T00:00:00Z")

  private final class History(random: Random, ids: Boolean, isPinning: Boolean = false) {
    private val files = mutable.LinkedHashMap.empty[String, ListedFile]
    private val manifests = mutable.Map.empty[ManifestName, List[Run]]
    private val damaged = mutable.Set.empty[String]
    private val passedOver = mutable.Set.empty[String]
    private val winners = mutable.Map.empty[Long, String]
    private var runs: List[Run] = Nil
    private var covered = 0L
    private var latest = 0L
    private var now = start
    private var inFlight = Set.empty[String]
    private var promised = 1L
    private var pins = Set.empty[Long]
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
        // Or it can be read, and is known to be of no use to build on.
        else if (random.nextInt(8) == 0) passedOver += manifest.name
      }
    }

    private def retain(): Unit = {
      val known = manifests.keySet.filter(m => files.contains(m.name)).map { m =>
        val names = manifests(m).flatMap(_.files).map(_.name).toSet
        KnownManifest(m, Option.when(!damaged(m.name))(names), passedOver(m.name))
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
          WinningIds(TreeMap.from(winners)),
          pins.toSeq.map(v => Pinned(v, WinningIds(TreeMap.from(winners.filter(_._1 <= v)))))
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
        !passedOver(m.name) &&
        m.checkpointId == winners.get(m.version) &&
        manifests(m).flatMap(_.files).forall(f => files.contains(f.name))
      }
      def has(v: Long) = files.contains(Attempt(v, winners.get(v)).changelog)
      val plan = RecoveryPlan.to(version, bases.map(_.version), Nil, 100, has)
      plan.bases.exists(base => (base + 1 to version).forall(has))
    }

    def step(): Unit = {
      now = now.plus(Duration.ofMinutes(random.nextInt(60).toLong))
      random.nextInt(7) match {
        case 0 if latest > covered           => snapshot()
        case 1                               => retain()
        case 2 if isPinning && pins.size < 4 =>
          // What retention keeps by itself at that moment can be pinned.
          val oldest = math.max(1L, promised)
          if (oldest <= latest) pins += oldest + random.nextInt((latest - oldest + 1).toInt)
        case 2 if random.nextInt(3) == 0 => pins -= pins.headOption.getOrElse(0L)
        case _                           => batch()
      }
      for (version <- pins) assert(isLoadable(version), s"pinned version $version cannot be loaded")
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

    /** What is left when nothing is pinned any more and retention has had its time. */
    def finish(): Iterable[ListedFile] = {
      pins = Set.empty
      inFlight = Set.empty
      (1 to rules.minVersionsToRetain + 1).foreach(_ => batch())
      snapshot()
      damaged.clear()
      passedOver.clear()
      (1 to rules.minVersionsToRetain + 1).foreach(_ => batch())
      now = now.plus(Duration.ofDays(1))
      for (_ <- 1 to 400) retain()
      files.values
    }

    /** The version that nothing older is needed for. */
    def base: Long = covered
  }

  for {
    ids <- Seq(false, true)
    seed <- 1 to Seeds.of(8)
  } test(s"every retained version stays loadable, ids=$ids, seed $seed") {
    val history = new History(new Random(seed.toLong), ids)
    for (_ <- 1 to 300) history.step()
  }

  for {
    ids <- Seq(false, true)
    seed <- 1 to Seeds.of(8)
  } test(
    s"every pinned version stays loadable, and goes when it is dropped, ids=$ids, seed $seed"
  ) {
    val history = new History(new Random(1000L + seed), ids, isPinning = true)
    for (_ <- 1 to 300) history.step()
    val left = history.finish().map(_.name).flatMap(CheckpointFiles.parse).collect {
      case file: VersionedFile => file.version
    }
    assert(left.min >= history.base)
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
      winners: WinningIds = WinningIds.WithoutIds,
      pins: Seq[Pinned] = Nil
  ) = RetentionPlan(
    files,
    known.map { case (v, names) => KnownManifest(manifest(v), names) },
    latest = 20,
    rules,
    start,
    inFlight,
    winners,
    pins
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

  test("a run that an older manifest still names is not in the way of what goes before it") {
    val logs = (6 to 14).map(v => file(s"$v.changelog"))
    val all = Seq(5L -> Some(Set(a)), 10L -> Some(Set(a)), 15L -> Some(Set(b, c)))
    val one = RetentionRules(2, maxVersionsToDelete = 1)
    var left = folder ++ logs
    val gone = Iterator
      .continually(plan(left, all.filter(m => left.exists(_.name == s"${m._1}.manifest")), one))
      .takeWhile(_.nonEmpty)
      .map { names =>
        left = left.filterNot(f => names.contains(f.name))
        names
      }
      .toSeq
    assert(gone.head == Seq("5.manifest"))
    assert(gone.find(_.contains(a)).exists(_.contains("10.manifest")))
    assert(left.map(_.name).toSet == Set(b, c, "15.manifest"))
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

  private def pin(version: Long, ids: (Long, String)*) =
    Pinned(version, WinningIds(TreeMap(ids: _*)))

  test("a pinned version keeps its base, what leads from there to it, and their runs; no more") {
    val logs = (1 to 20).map(v => file(s"$v.changelog"))
    val all = Seq(5L -> Some(Set(a)), 10L -> Some(Set(a, b)), 15L -> Some(Set(b, c)))
    def kept(pins: Pinned*) = {
      val gone = plan(folder ++ logs, all, pins = pins).toSet
      (folder ++ logs).map(_.name).filterNot(gone).toSet
    }
    val window = Set("15.manifest", b, c) ++ (16 to 20).map(v => s"$v.changelog")
    assert(kept() == window)
    assert(kept(pin(7)) == window ++ Set("5.manifest", a, "6.changelog", "7.changelog"))
    assert(kept(pin(5)) == window ++ Set("5.manifest", a))
    assert(kept(pin(3)) == window ++ (1 to 3).map(v => s"$v.changelog"))
    assert(kept(pin(7), pin(10)) == kept(pin(7)) ++ kept(pin(10)))
    assert(kept(pin(19)) == window, "one of those that are kept anyway")
    assert(kept(pin(30)) == window, "one that is not there yet")
  }

  test("a manifest that is damaged is no base of a pinned version, and stays with all before it") {
    val logs = (1 to 20).map(v => file(s"$v.changelog"))
    val some = Seq(5L -> Some(Set(a)), 10L -> None, 15L -> Some(Set(b, c)))
    val gone = plan(folder ++ logs, some, pins = Seq(pin(12)))
    assert(gone.toSet == ((1 to 5) ++ (13 to 15)).map(v => s"$v.changelog").toSet)
  }

  test("a pinned version of another line keeps the attempts of that, whatever has won since") {
    val names = Seq("16_x", "16_w", "17_x", "17_w", "18_w").map(_ + ".changelog") ++
      Seq("15_x.manifest", "15_w.manifest", "18_w.manifest")
    val files = names.map(file(_))
    val manifests = names.filter(_.endsWith("manifest")).map { name =>
      val id = name.drop(3).take(1)
      KnownManifest(ManifestName(Attempt(name.take(2).toLong, Some(id))), Some(Set.empty))
    }
    val main = WinningIds(TreeMap.from((15L to 20L).map(_ -> "w")))
    def gone(pins: Pinned*) =
      RetentionPlan(files, manifests, 20, RetentionRules(2), start, Set.empty, main, pins)
        .map(_.name)
        .toSet
    assert(gone() == names.toSet - "18_w.manifest")
    val other = pin(17, 15L -> "x", 16L -> "x", 17L -> "x")
    val held = Set("15_x.manifest", "16_x.changelog", "17_x.changelog")
    assert(gone(other) == names.toSet - "18_w.manifest" -- held)
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
