package io.bucketstate.checkpoint.manifest
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.util.UUID

import scala.collection.immutable.SortedMap
import scala.util.Random

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

import io.bucketstate.checkpoint.io.{Attempt, Damage, ManifestName, RunName}
import io.bucketstate.checkpoint.run.{BucketSpan, Run, RunFile, TimeSpan, VersionSpan}
import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{CorruptException, InvalidException, MissingException}
import io.bucketstate.record.{FamilyDescriptor, TimeBuckets}
import io.bucketstate.testkit.{Changes, GoldenRuns, MemoryFileStore, TidySuite}

class ManifestSuite extends TidySuite {
  private val damage = new Damage("folder/9.manifest", "manifest of version 9")

  private def id(random: Random) = new UUID(random.nextLong(), random.nextLong())

  private def random(seed: Int): Manifest = {
    val random = new Random(seed.toLong)
    val buckets = 4 + random.nextInt(100)
    val ends = Seq.fill(1 + random.nextInt(6))(1L + random.nextInt(1000)).distinct.sorted
    val runs = ends.zip(0L +: ends).map { case (end, before) =>
      val cut = 1 + random.nextInt(buckets - 2)
      val files = Seq(BucketSpan(0, 0, cut - 1), BucketSpan(0, cut, buckets - 1))
        .take(random.nextInt(3))
        .zipWithIndex
        .map { case (span, n) =>
          val entries = 1 + random.nextLong(Long.MaxValue / 100)
          val tombstones = if (before == 0) 0L else random.nextLong(entries)
          val name = RunName(end, n, id(random)).name
          val times = Option.when(random.nextBoolean())(TimeSpan(-5, random.nextLong()))
          RunFile(
            name,
            random.nextLong(Long.MaxValue),
            entries,
            tombstones,
            Seq(span),
            random.nextInt(),
            times
          )
        }
      Run(VersionSpan(before + 1, end), files)
    }
    def commit = Option.when(random.nextBoolean())(id(random))
    def maybe = commit.map(_.toString)
    val most = runs.map(r => r.entries - r.tombstones).sum
    val text = random.nextString(5)
    val count = Option.when(random.nextBoolean())(if (most > 0) random.nextLong(most) else 0L)
    val last = Option.when(count.isEmpty && random.nextBoolean())(
      KeysAt(ends.last - 1, random.nextInt(9).toLong)
    )
    val families = Seq(
      ManifestFamily(Changes.descriptor(0), count, Some(text), lastCount = last),
      ManifestFamily(
        FamilyDescriptor(3, text, "\"\\\n", "v"),
        Some(0),
        None,
        Some("{\"a\": 1}")
      )
    )
    Manifest(text, ends.last, buckets, "xxh64", families, runs.reverse, commit, maybe, maybe)
  }

  test("what is encoded is decoded, byte by byte the same each time") {
    for (seed <- 1 to 200) {
      val manifest = random(seed)
      val bytes = ManifestFormat.encode(manifest)
      assert(ManifestFormat.decode(bytes, damage) == manifest)
      assert(ManifestFormat.encode(manifest).sameElements(bytes))
    }
  }

  private lazy val golden = Files.readAllBytes(GoldenRuns.folder.resolve(GoldenRuns.file.name))

  test("the golden manifest holds what it was written with, and is written the same today") {
    val manifest = ManifestFormat.decode(golden, damage)
    assert(manifest.file == GoldenRuns.file && manifest.storeId == "state/0/3")
    assert(manifest.families.flatMap(_.keyCount) == Seq(60, 0))
    assert(manifest.runs.head.files.head.times.contains(TimeSpan(-1, 5)))
    assert(ManifestFormat.encode(manifest).sameElements(golden))
  }

  test("what is said of damage can be printed, whatever the bytes are") {
    val zeros = golden ++ Array.fill[Byte](4)(0)
    val failure = intercept[CorruptException](ManifestFormat.decode(zeros, damage))
    assert(!failure.getMessage.exists(Character.isISOControl))
  }

  test("every flipped bit, every cut and whatever is appended is found") {
    for {
      i <- golden.indices
      bit <- 0 until 8
    } {
      val flipped = golden.clone()
      flipped(i) = (flipped(i) ^ (1 << bit)).toByte
      withClue(s"byte $i, bit $bit")(
        assertThrows[CorruptException](ManifestFormat.decode(flipped, damage))
      )
    }
    for (n <- golden.indices)
      withClue(s"$n bytes")(
        assertThrows[CorruptException](ManifestFormat.decode(golden.take(n), damage))
      )
    for (more <- Seq(" ", "\n", "{}"))
      assertThrows[CorruptException](ManifestFormat.decode(golden ++ more.getBytes(UTF_8), damage))
  }

  private def edited(change: ObjectNode => Any): Array[Byte] = {
    val tree = new ObjectMapper().readTree(golden).asInstanceOf[ObjectNode]
    tree.remove("checksum")
    change(tree)
    ManifestFormat.seal(tree)
  }

  private def message(bytes: Array[Byte]): String =
    intercept[CorruptException](ManifestFormat.decode(bytes, damage)).getMessage

  test("members that nobody knows are ignored, a newer version is refused, and both say so") {
    val more = edited { t =>
      t.put("new", "thing")
      t.withArray[com.fasterxml.jackson.databind.node.ArrayNode]("runs")
        .get(0)
        .asInstanceOf[ObjectNode]
        .put("x", 1)
    }
    assert(ManifestFormat.decode(more, damage) == ManifestFormat.decode(golden, damage))
    val newer = message(edited(_.put("formatVersion", 3)))
    assert(newer.contains("found 3") && newer.contains("Upgrade bucketstate"))
    assert(message(edited(_.put("formatVersion", 0))).contains("format version"))
    assert(message(edited(_.put("format", "something"))).contains("bucketstate-manifest"))
  }

  test("members that are missing or of the wrong kind are damage, whatever the checksum says") {
    for (name <- Seq("storeId", "version", "numBuckets", "hashFunction", "families", "runs")) {
      assert(message(edited(_.remove(name))).contains(s"'$name'"))
      assert(message(edited(_.putObject(name))).contains(s"'$name'"))
    }
    assert(message("[1]".getBytes).contains("manifest of version 9"))
    assert(message(Array.emptyByteArray).contains("folder/9.manifest"))
  }

  test("each invariant is broken by what it speaks of, and neither written nor read") {
    val good = ManifestFormat.decode(golden, damage)
    val (young, old) = (good.runs.head, good.runs(1))
    def withFile(f: RunFile => RunFile) =
      good.copy(runs = Seq(young.copy(files = young.files.map(f)), old))
    val bad = Seq[(String, Manifest)](
      "version is 1 or above" -> good.copy(version = 0),
      "there is a run" -> good.copy(runs = Nil),
      "newest run ends" -> good.copy(version = 10),
      "oldest run starts" -> good.copy(runs = Seq(young, old.copy(versions = VersionSpan(2, 7)))),
      "ends before it starts" -> good.copy(runs =
        Seq(young.copy(versions = VersionSpan(10, 9)), old)
      ),
      "where the next older one ends" -> good.copy(runs =
        Seq(young.copy(versions = VersionSpan(7, 9)), old)
      ),
      "no tombstones" -> good.copy(runs = Seq(young.copy(versions = VersionSpan(1, 9)))),
      "fits a run's keys" -> good.copy(numBuckets = ConfigKey.MostBuckets + 1),
      "one of the store's" -> good.copy(numBuckets = 3),
      "which buckets it has" -> withFile(_.copy(buckets = Nil)),
      "share no bucket" -> good.copy(runs = Seq(young, old.copy(files = old.files ++ old.files))),
      "is or was one of" -> good.copy(families = good.families.take(1), nextFamily = None),
      "was given out" -> good.copy(nextFamily = Some(2)),
      "described once" -> good.copy(families = good.families ++ good.families),
      "as many keys as it has" -> good.copy(families =
        good.families.map(_.copy(times = Some(TimeBuckets.ofUntimed(1000))))
      ),
      "only then" -> good.copy(families =
        good.families.map(_.copy(times = Some(TimeBuckets.ofUntimed(60))))
      ),
      "keys has expired" -> good.copy(families =
        good.families.map(_.copy(times = Some(TimeBuckets(9, 9, 9, 0, SortedMap(8L -> 60L)))))
      ),
      "where there is none of this one" -> good.copy(families =
        good.families.map(_.copy(lastCount = Some(KeysAt(3, 1))))
      ),
      "fewer entries" -> withFile(f => f.copy(tombstones = f.entries + 1)),
      "key count" -> good.copy(families = good.families.map(_.copy(keyCount = Some(1000)))),
      "named twice" -> withFile(_.copy(name = old.files.head.name)),
      "name of a run's file" -> withFile(_.copy(name = "runs/x.sst"))
    )
    assert(bad.size == ManifestInvariants.of(good).size)
    bad.foreach { case (part, manifest) =>
      assert(ManifestInvariants.broken(manifest).exists(_.contains(part)), part)
      val e = intercept[InvalidException](ManifestFormat.encode(manifest))
      assert(e.getMessage.contains(part))
    }
    assert(message(edited(_.put("numBuckets", 3))).contains("one of the store's"))
  }

  test("a manifest is published under its name and read from there, not from another's") {
    val store = new MemoryFileStore
    val manifests = new Manifests(store)
    val manifest = random(3)
    manifests.write(manifest)
    assert(manifests.read(manifest.file) == manifest)
    val other = ManifestName(Attempt(manifest.version + 1))
    assertThrows[MissingException](manifests.read(other))
    store.put(other.name, store.read(manifest.file.name))
    assert(
      intercept[CorruptException](manifests.read(other)).getMessage.contains("renamed or copied")
    )
  }
}
