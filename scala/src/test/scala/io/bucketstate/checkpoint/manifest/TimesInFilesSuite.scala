package io.bucketstate.checkpoint.manifest

import scala.collection.immutable.SortedMap
import scala.util.Random

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

import io.bucketstate.checkpoint.changelog.{ChangelogFamily, ChangelogReader, ChangelogWriter}
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, Damage, RunName}
import io.bucketstate.checkpoint.records.Lookup
import io.bucketstate.checkpoint.run.read.{FilesByBucket, RunReaders}
import io.bucketstate.checkpoint.run.{BucketSpan, Run, RunFile, TimeSlices, TimeSpan, VersionSpan}
import io.bucketstate.error.{CorruptException, InvalidException}
import io.bucketstate.record._
import io.bucketstate.testkit.{Changes, MemoryFileStore, Runs, TempFolder, TidySuite}

/** Times of records in changelogs, manifests and runs: written, read back, and refused where they are wrong. */
class TimesInFilesSuite extends TidySuite {
  private val damage = new Damage("folder/3.manifest", "manifest of version 3")

  private def randomTimes(random: Random): TimeBuckets = {
    val keys = Seq.fill(random.nextInt(5)) {
      (if (random.nextInt(4) == 0) TimedValue.Never else random.nextLong(1L << 32)) ->
        (1L + random.nextInt(1000))
    }
    val untimed =
      if (random.nextBoolean()) TimedValue.Never else random.nextLong((1L << 32) - 1)
    TimeBuckets(
      if (random.nextBoolean()) TimeBuckets.NoTime else random.nextLong((1L << 32) - 1),
      random.nextLong(1 + (keys.map(_._1) ++ Seq(untimed, TimedValue.Never - 1)).min),
      untimed,
      random.nextInt(50).toLong,
      keys.to(SortedMap)
    )
  }

  private val timed = Changes.descriptor(0).copy(valueEncoding = "timed-row/1")

  private def changelog(held: TimeBuckets, keys: Long): MemoryFileStore =
    changelog(timed, Some(held), keys)

  private def changelog(
      family: FamilyDescriptor,
      held: Option[TimeBuckets],
      keys: Long
  ): MemoryFileStore = {
    val changes = new FamilyChanges {
      override def descriptor: FamilyDescriptor = family
      override def numBuckets: Int = 4
      override def keyCount: Option[Long] = Some(keys)
      override def times: Option[TimeBuckets] = held
      override def foreach(sink: ChangeSink): Unit = ()
    }
    val bytes = new ChangelogWriter().encode(
      Changes.header(3, 4, BlockCodec.Raw),
      new ChangeSet(3, IndexedSeq(changes), 1)
    )
    val out = new java.io.ByteArrayOutputStream
    bytes.writeTo(out)
    val store = new MemoryFileStore
    store.put("3.changelog", out.toByteArray)
    store
  }

  test("a changelog has a family's time buckets, and is of format 2 then") {
    for (seed <- 1 to 100) {
      val times = randomTimes(new Random(seed.toLong))
      val store = changelog(times, times.keyCount)
      assert(store.read("3.changelog")(8) == 2)
      val reader = ChangelogReader.open(store, Attempt(3))
      assert(reader.families == Seq(ChangelogFamily(timed, Some(times.keyCount), Some(times))))
      reader.close()
    }
  }

  test("time buckets that do not add up to the keys make a changelog damaged") {
    val times = randomTimes(new Random(1))
    val e = intercept[CorruptException](
      ChangelogReader.open(changelog(times, times.keyCount + 1), Attempt(3))
    )
    assert(e.getMessage.contains("keys in time buckets"))
  }

  test("what says one thing of a family's times and has another makes a changelog damaged") {
    val late = TimeBuckets(9, 9, 9, 0, SortedMap(8L -> 5L))
    val untimed = TimeBuckets(9, 9, 8, 5, SortedMap.empty)
    for (
      (family, held, problem) <- Seq(
        (timed, None, "no time buckets"),
        (Changes.descriptor(0), Some(TimeBuckets.ofUntimed(5)), "time buckets"),
        (timed, Some(late), "expired before 9"),
        (timed, Some(untimed), "expired before 9")
      )
    ) {
      val store = changelog(family, held, 5)
      val e = intercept[CorruptException](ChangelogReader.open(store, Attempt(3)))
      assert(e.getMessage.contains(problem), e)
    }
    // No key of it is counted, so it may stay.
    ChangelogReader
      .open(changelog(late.copy(keys = SortedMap(8L -> 0L)), 0), Attempt(3))
      .close()
  }

  test("a manifest's time buckets are in ascending order, each once") {
    val times = TimeBuckets(9, 0, TimedValue.Never, 0, SortedMap(10L -> 2L, 20L -> 3L))
    val all = manifest(times, file(0, BucketSpan(0, 0, 3), None))
    val text = new String(ManifestFormat.encode(all), "UTF-8")
    for ((from, to) <- Seq("10" -> "30", "10" -> "20")) {
      val tree = new ObjectMapper().readTree(text).asInstanceOf[ObjectNode]
      tree.remove("checksum")
      val keys = tree.get("families").get(0).get("timeBuckets").get("keys")
      assert(keys.get(0).get("start").asText == from)
      keys.get(0).asInstanceOf[ObjectNode].put("start", to.toLong)
      val e = intercept[CorruptException](ManifestFormat.decode(ManifestFormat.seal(tree), damage))
      assert(e.getMessage.contains("ascending"), e)
    }
  }

  private def file(n: Int, buckets: BucketSpan, times: Option[TimeSpan]) = RunFile(
    RunName(3, n, new java.util.UUID(3, n.toLong)).name,
    100L,
    1000000L,
    0L,
    Seq(buckets),
    n,
    times
  )

  private def manifest(times: TimeBuckets, files: RunFile*): Manifest = Manifest(
    "s",
    3,
    4,
    "xxh64",
    Seq(ManifestFamily(timed, Some(times.keyCount), times = Some(times))),
    Seq(Run(VersionSpan(1, 3), files))
  )

  test("a manifest has them, too") {
    for (seed <- 1 to 100) {
      val all = manifest(
        randomTimes(new Random(seed.toLong)),
        file(0, BucketSpan(0, 0, 3), Some(TimeSpan(0, TimedValue.Never)))
      )
      val bytes = ManifestFormat.encode(all)
      assert(ManifestFormat.decode(bytes, damage) == all)
      assert(new String(bytes, "UTF-8").contains("\"formatVersion\" : 2"))
    }
  }

  test("the files of a run may share buckets where no key can be in both") {
    val times = TimeBuckets.ofUntimed(5)
    val whole = BucketSpan(0, 0, 3)
    val apart = manifest(
      times,
      file(0, whole, Some(TimeSpan(10, 20))),
      file(1, whole, Some(TimeSpan(30, 40))),
      file(2, whole, None)
    )
    assert(ManifestFormat.decode(ManifestFormat.encode(apart), damage) == apart)
    for (
      (a, b) <- Seq(
        (None, None),
        (Some(TimeSpan(10, 30)), Some(TimeSpan(30, 40))),
        (Some(TimeSpan(10, 50)), Some(TimeSpan(30, 40)))
      )
    )
      intercept[InvalidException](
        ManifestFormat.encode(manifest(times, file(0, whole, a), file(1, BucketSpan(0, 2, 3), b)))
      )
  }

  test("a run that is cut by time is the same run, look-ups and scans of it, too") {
    for (seed <- 1 to 20) {
      val random = new Random(seed.toLong)
      val starts = Seq.fill(1 + random.nextInt(20))(random.nextInt(300).toLong * 10).distinct
      val content = Runs.nothing ++ Seq.fill(400) {
        val text = Seq.fill(random.nextInt(40))('x'.toByte)
        val start = random.nextInt(12) match {
          case 0 => TimedValue.Never
          case 1 => TimedValue.Untimed
          case _ => starts(random.nextInt(starts.size))
        }
        val value = new Array[Byte](TimedValue.Length)
        TimedValue.put(value, 0, start)
        val all = if (start == TimedValue.Untimed) 1.toByte +: text else value.toSeq ++ text
        Runs.place(0, random.nextInt(4), BigInt(random.nextInt(5000)).toByteArray) -> Some(all)
      }
      val times = TimeBuckets(0, 0, TimedValue.Never, 0, starts.map(_ -> 1L).to(SortedMap))
      TempFolder.use { folder =>
        val room = new Runs.Room(new MemoryFileStore, folder)
        val slices = TimeSlices.of(Map(0 -> times), isCut = true)
        val run = room
          .writer(maxFileBytes = 2000)
          .write(VersionSpan(1, 3), Runs.cursor(content), oldest = true, slices)
        assert(run.entries == content.size)
        val readers = new RunReaders(room.local)
        assert(Runs.drain(readers.scanAll(Seq(run), dropRemovals = false)) == content)
        val span = BucketSpan(0, 1, 2)
        assert(
          Runs.drain(readers.scan(Seq(run), span, dropRemovals = false)) ==
            Runs.within(content, span)
        )
        val files = new FilesByBucket(Seq(run))
        content.keys.foreach { place =>
          assert(readers.get(files, 0, place._2, Runs.keyOf(place)) != Lookup.Absent)
        }
        // What can expire together lies in files of its own.
        val spans = run.files.flatMap(_.times)
        val most = (starts.size + 7) / 8
        assert(
          spans.forall(s => starts.count(t => s.first <= t && t <= s.last) <= most) &&
            spans.distinct.size >= math.min(8, starts.size) / 2
        )
        readers.close()
        room.close()
      }
    }
  }
}
