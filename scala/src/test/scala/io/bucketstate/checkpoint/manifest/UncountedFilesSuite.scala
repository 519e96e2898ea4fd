package io.bucketstate.checkpoint.manifest

import java.io.ByteArrayOutputStream
import java.util.UUID

import io.bucketstate.checkpoint.changelog.{ChangelogFamily, ChangelogReader, ChangelogWriter}
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, Damage, RunName}
import io.bucketstate.checkpoint.records.FamilyEncodings
import io.bucketstate.checkpoint.run.{BucketSpan, Run, RunFile, VersionSpan}
import io.bucketstate.error.CorruptException
import io.bucketstate.record._
import io.bucketstate.testkit.{Changes, MemoryFileStore, TidySuite}

/** Changelogs and manifests that do not say how many keys there are: they have no number that could be taken for it. */
class UncountedFilesSuite extends TidySuite {
  private val damage = new Damage("folder/3.manifest", "manifest of version 3")

  private def family(number: Int, keys: Option[Long], held: Option[TimeBuckets] = None) =
    new FamilyChanges {
      override def descriptor: FamilyDescriptor = {
        val plain = Changes.descriptor(number)
        if (held.isEmpty) plain else FamilyEncodings.timed(plain)
      }
      override def numBuckets: Int = 4
      override def keyCount: Option[Long] = keys
      override def times: Option[TimeBuckets] = held
      override def foreach(sink: ChangeSink): Unit = ()
    }

  private def changelog(families: FamilyChanges*): MemoryFileStore = {
    val out = new ByteArrayOutputStream
    new ChangelogWriter()
      .encode(
        Changes.header(3, 4, BlockCodec.Raw),
        new ChangeSet(3, families.toIndexedSeq, families.size)
      )
      .writeTo(out)
    val store = new MemoryFileStore
    store.put("3.changelog", out.toByteArray)
    store
  }

  private def families(store: MemoryFileStore): Seq[ChangelogFamily] = {
    val reader = ChangelogReader.open(store, Attempt(3))
    try reader.families
    finally reader.close()
  }

  test("a changelog says of which families the keys were not counted, in either format") {
    val plain = changelog(family(0, None), family(1, Some(5)))
    assert(plain.read("3.changelog")(8) == 1)
    assert(families(plain).map(_.keyCount) == Seq(None, Some(5)))
    val times = TimeBuckets.ofUntimed(4)
    val timed = changelog(family(0, Some(4), Some(times)), family(1, None))
    assert(timed.read("3.changelog")(8) == 2)
    assert(
      families(timed).map(f => f.times -> f.keyCount) == Seq(Some(times) -> Some(4), None -> None)
    )
  }

  test("a family with times that was not counted is damage") {
    val store = changelog(family(0, None, Some(TimeBuckets.ofUntimed(4))))
    val e = intercept[CorruptException](families(store))
    assert(e.getMessage.contains("a family with times are not counted"))
  }

  private def manifest(families: ManifestFamily*) = {
    val file = RunFile(
      RunName(3, 0, new UUID(3, 0)).name,
      100L,
      10L,
      0L,
      Seq(BucketSpan(0, 0, 3)),
      0
    )
    Manifest("s", 3, 4, "xxh64", families, Seq(Run(VersionSpan(1, 3), Seq(file))))
  }

  test("so with a manifest, which says how many there were when they were counted last") {
    val some = manifest(
      ManifestFamily(Changes.descriptor(0), None, lastCount = Some(KeysAt(2, 1000))),
      ManifestFamily(Changes.descriptor(1), Some(10)),
      ManifestFamily(Changes.descriptor(2), None)
    )
    val bytes = ManifestFormat.encode(some)
    assert(ManifestFormat.decode(bytes, damage) == some)
    assert(new String(bytes, "UTF-8").contains("\"formatVersion\" : 1"))
    assert(
      (0 to 3).map(some.lastCount) == Seq(Some(KeysAt(2, 1000)), Some(KeysAt(3, 10)), None, None)
    )
    val state = new ManifestState(some, () => fail("nothing is read"), _ => ())
    assert((0 to 3).map(state.keyCount) == Seq(None, Some(10), None, Some(0)))
  }

  test("what is counted is held against the runs, also beside what is not") {
    val broken = ManifestInvariants.broken(
      manifest(
        ManifestFamily(Changes.descriptor(0), None),
        ManifestFamily(Changes.descriptor(1), Some(11))
      )
    )
    assert(broken == Seq("no key count is negative or more than the runs can hold"))
  }
}
