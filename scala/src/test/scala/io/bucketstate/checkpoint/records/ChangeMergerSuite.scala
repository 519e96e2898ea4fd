package io.bucketstate.checkpoint.records

import java.io.ByteArrayOutputStream

import scala.util.{Random, Using}

import io.bucketstate.checkpoint.changelog.{ChangelogBuckets, ChangelogReader, ChangelogWriter}
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec}
import io.bucketstate.error.CorruptException
import io.bucketstate.record.BucketAssigner
import io.bucketstate.testkit.{TidySuite, _}

/** Versions' changes, in memory and from changelogs, merged against a map. */
class ChangeMergerSuite extends TidySuite {
  private val numBuckets = 7

  private val assigner = new BucketAssigner(numBuckets)
  private val ids = Seq(0, 2, 9)
  private val places = Changes.places(assigner, ids: _*)

  private def bucketOf(key: Seq[Byte]): Int =
    assigner.bucket(assigner.hash(key.toArray, 0, key.length))

  private def writes(random: Random): Seq[Write] = Seq
    .fill(random.nextInt(120)) {
      val key = Seq.fill(random.nextInt(3))((random.nextInt(6) * 50).toByte)
      val value =
        Option.when(random.nextInt(3) > 0)(Seq.fill(random.nextInt(40))(random.nextInt().toByte))
      Write(bucketOf(key), key, value)
    }
    .groupBy(_.key)
    .values
    .map(_.head)
    .toSeq

  private def content(versions: Seq[Seq[(Int, Seq[Write])]]): Runs.Content =
    Runs.nothing ++ (for {
      version <- versions
      (family, all) <- version
      w <- all
    } yield Runs.place(family, w.bucket, w.key.toArray) -> w.value)

  for (seed <- 1 to 20) test(s"the newest write of each key comes out in order, seed $seed") {
    val random = new Random(seed.toLong)
    val versions = Seq.fill(1 + random.nextInt(5)) {
      ids.filter(_ => random.nextInt(4) > 0).map(_ -> writes(random))
    }
    val expected = content(versions)
    val store = new MemoryFileStore
    Using.resource(new ChangelogWriter(blockBytes = 300, splitBytes = 500)) { writer =>
      versions.zipWithIndex.foreach { case (version, i) =>
        val families = version.map { case (id, w) => Changes.family(id, numBuckets, w) }
        val out = new ByteArrayOutputStream
        writer
          .encode(Changes.header(i + 1L, numBuckets, BlockCodec.Lz4), Changes.set(families))
          .writeTo(out)
        store.put(s"${i + 1}.changelog", out.toByteArray)
      }
    }
    val readers =
      versions.indices.map(i => ChangelogReader.readWhole(store, Attempt(i + 1L)))
    val logs = readers.map(ChangelogBuckets.of(_, "a changelog", places))
    assert(Runs.drain(new ChangeMerger(logs.reverse, numBuckets)) == expected)
  }

  test("a changelog's record in the wrong block is damage") {
    val store = new MemoryFileStore
    val out = new ByteArrayOutputStream
    val wrong = (bucketOf(Seq(1)) + 1) % numBuckets
    val family = Changes.family(0, numBuckets, Seq(Write(wrong, Seq(1), Some(Seq(1)))))
    Using.resource(new ChangelogWriter)(
      _.encode(Changes.header(1, numBuckets, BlockCodec.Raw), Changes.set(Seq(family))).writeTo(out)
    )
    store.put("1.changelog", out.toByteArray)
    val reader = ChangelogReader.readWhole(store, Attempt(1))
    val merger = new ChangeMerger(Seq(ChangelogBuckets.of(reader, "it", places)), numBuckets)
    assertThrows[CorruptException](Runs.drain(merger))
  }
}
