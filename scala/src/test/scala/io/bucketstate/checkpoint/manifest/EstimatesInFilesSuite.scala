package io.bucketstate.checkpoint.manifest

import java.io.ByteArrayOutputStream
import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.checkpoint.changelog.{ChangelogFamily, ChangelogReader, ChangelogWriter}
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, Damage, RunName}
import io.bucketstate.checkpoint.run._
import io.bucketstate.error.CorruptException
import io.bucketstate.table._
import io.bucketstate.testkit.{Changes, MemoryFileStore}

/** Key counts that are estimates, in changelogs and manifests: never to be taken for exact ones. */
class EstimatesInFilesSuite extends AnyFunSuite {
  private val damage = new Damage("folder/3.manifest", "manifest of version 3")

  private def family(number: Int, keys: Long, estimated: Boolean, held: Option[TimeBuckets]) =
    new FamilyChanges {
      override def descriptor: FamilyDescriptor = Changes.descriptor(number)
      override def numBuckets: Int = 4
      override def keyCount: Long = keys
      override def isEstimated: Boolean = estimated
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

  test("a changelog with an estimate says so, and is of format 3, which older readers refuse") {
    val store =
      changelog(family(0, 7, estimated = true, None), family(1, 5, estimated = false, None))
    assert(store.read("3.changelog")(8) == 3)
    assert(families(store).map(f => f.keyCount -> f.isEstimated) == Seq(7L -> true, 5L -> false))
    val exact = changelog(family(0, 7, estimated = false, None))
    assert(exact.read("3.changelog")(8) == 1)
    assert(families(exact) == Seq(ChangelogFamily(Changes.descriptor(0), 7)))
  }

  test("beside an estimate a family with times has them") {
    val times = TimeBuckets.ofUntimed(4)
    val store =
      changelog(family(0, 4, estimated = false, Some(times)), family(1, 9, estimated = true, None))
    assert(store.read("3.changelog")(8) == 3)
    assert(
      families(store).map(f => f.times -> f.isEstimated) == Seq(Some(times) -> false, None -> true)
    )
  }

  test("an estimate of a family with times is damage") {
    val store = changelog(family(0, 4, estimated = true, Some(TimeBuckets.ofUntimed(4))))
    val e = intercept[CorruptException](families(store))
    assert(e.getMessage.contains("a family with times are an estimate"))
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

  test("so with a manifest, and an estimate may be more than its runs can hold") {
    val some = manifest(
      ManifestFamily(Changes.descriptor(0), 1000, isEstimated = true),
      ManifestFamily(Changes.descriptor(1), 10)
    )
    val bytes = ManifestFormat.encode(some)
    assert(ManifestFormat.decode(bytes, damage) == some)
    assert(new String(bytes, "UTF-8").contains("\"formatVersion\" : 3"))
    val state = new ManifestState(some, () => fail("nothing is read"), _ => ())
    assert(state.isEstimated(0) && !state.isEstimated(1) && !state.isEstimated(2))
    val exact = manifest(ManifestFamily(Changes.descriptor(0), 10))
    assert(new String(ManifestFormat.encode(exact), "UTF-8").contains("\"formatVersion\" : 1"))
  }

  test("what is said to be exact is held against the runs beside an estimate, too") {
    val broken = ManifestInvariants.broken(
      manifest(
        ManifestFamily(Changes.descriptor(0), 1, isEstimated = true),
        ManifestFamily(Changes.descriptor(1), 11)
      )
    )
    assert(
      broken == Seq("no key count is negative or, if it is exact, more than the runs can hold")
    )
  }
}
