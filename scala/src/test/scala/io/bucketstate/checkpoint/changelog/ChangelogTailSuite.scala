package io.bucketstate.checkpoint.changelog

import java.nio.file.Files

import scala.collection.mutable
import scala.util.Random

import org.scalatest.tags.Slow

import io.bucketstate.checkpoint.io.{Attempt, FileStore, NioFileStore}
import io.bucketstate.checkpoint.records.{FamilyEncodings, Lookup, RecordPlaces}
import io.bucketstate.error.{CorruptException, UnavailableException}
import io.bucketstate.record.{BucketAssigner, Record, RecordBuffer, RecordOp}
import io.bucketstate.testkit.ProviderHarness._
import io.bucketstate.testkit.{
  Fault,
  FaultyFileStore,
  Hanging,
  ProviderHarness,
  TidySuite,
  WatchedFileStore
}

/** Changelogs as a restart reads them: by bucket and by key, in any order, again after a failure. */
@Slow
class ChangelogTailSuite extends TidySuite {
  private val buckets = 5
  private val assigner = new BucketAssigner(buckets)

  /** So many versions of random changes in a folder, each key's last state by its bytes. */
  private def written(harness: ProviderHarness, versions: Int, seed: Int): Unit = {
    val random = new Random(seed.toLong)
    val provider =
      harness.provider("spark.sql.streaming.stateStore.bucketed.numBuckets" -> s"$buckets")
    (0 until versions).foreach { v =>
      val keys = Seq.fill(200)((random.nextInt(9).toLong, s"k${random.nextInt(40)}")).distinct
      val (puts, removes) = keys.partition(_ => random.nextInt(4) > 0)
      batch(provider, v.toLong)(
        puts.map(_ -> (random.nextLong(), "v" * random.nextInt(3000))): _*
      )(removes: _*)
    }
    provider.close()
  }

  private def tail(store: FileStore, versions: Int, isHeld: Int => Boolean): ChangelogTail =
    new ChangelogTail((1 to versions).map { v =>
      val file = Attempt(v.toLong)
      val opened =
        if (isHeld(v)) ChangelogReader.readWhole(store, file)
        else {
          val reader = ChangelogReader.open(store, file)
          reader.close()
          reader
        }
      val specs = opened.families.map(f => FamilyEncodings.specOf("a test", f.descriptor))
      new TailChangelog(store, file, opened, isHeld(v), new RecordPlaces(assigner, specs))
    })

  private type State = Map[Seq[Byte], Seq[Byte]]

  private def bucketOf(tail: ChangelogTail, bucket: Int): State = {
    val state = mutable.HashMap.empty[Seq[Byte], Seq[Byte]]
    tail.read(
      0,
      bucket,
      (record, op) => {
        val end = Record.keyEnd(record)
        val key = record.take(end).toSeq
        if (op == RecordOp.Remove) state -= key else state(key) = record.drop(end).toSeq
      }
    )
    state.toMap
  }

  private def found(tail: ChangelogTail, key: Seq[Byte]): Option[Seq[Byte]] = {
    val buffer = new RecordBuffer(assigner)
    buffer.keyOf(key.toArray, 0, io.bucketstate.record.BucketKey.Whole)
    Lookup.combined(0, tail.find(0, buffer)) match {
      case Lookup.Found(record) => Some(record.drop(Record.keyEnd(record)).toSeq)
      case _                    => None
    }
  }

  for (seed <- 1 to 6) test(s"by bucket and by key it is what a whole read says, seed $seed") {
    withFolder { folder =>
      val harness = new ProviderHarness(folder)
      val versions = 2 + seed
      written(harness, versions, seed)
      val store = new NioFileStore(harness.storeFolder)
      val whole = tail(store, versions, _ => true)
      val expected = (0 until buckets).map(bucketOf(whole, _))
      val mixed = tail(store, versions, _ % 3 == 0)
      val random = new Random(seed.toLong)
      random.shuffle((0 until buckets).toList).foreach { b =>
        expected(b).take(20).foreach { case (key, value) =>
          assert(found(mixed, key).contains(value))
        }
        assert(bucketOf(mixed, b) == expected(b))
        assert(bucketOf(mixed, b) == expected(b), "read again")
        mixed.loaded(0, b)
        assert(bucketOf(mixed, b) == expected(b), "and when it was said to be loaded")
        mixed.loaded(0, b)
      }
      val parts = tail(store, versions, _ => false)
      (0 until buckets).foreach { b =>
        bucketOf(parts, b)
        assert(parts.heapBytes > 0)
        parts.loaded(0, b)
      }
      assert(parts.heapBytes == 0, "with the last bucket all is let go")
    }
  }

  test("of what is not held only blocks are read, and every damage in them is found") {
    withFolder { folder =>
      val harness = new ProviderHarness(folder)
      written(harness, 1, 9)
      val store = new NioFileStore(harness.storeFolder)
      val sound = tail(store, 1, _ => false)
      assert(!sound.isVerified)
      sound.verify()
      val blocks = sound.oldestFirst.head.opened.blocks
      val path = harness.file("1.changelog")
      val bytes = Files.readAllBytes(path)
      for (block <- blocks) {
        val at = (block.offset + block.storedLength / 2).toInt
        val flipped = bytes.clone()
        flipped(at) = (flipped(at) ^ 4).toByte
        Files.write(path, flipped)
        val opened = tail(store, 1, _ => false)
        assertThrows[CorruptException](opened.verify())
        assertThrows[CorruptException]((0 until buckets).foreach(bucketOf(opened, _)))
      }
    }
  }

  test("a read that failed is made again") {
    withFolder { folder =>
      val harness = new ProviderHarness(folder)
      written(harness, 3, 4)
      val faulty = new FaultyFileStore(new NioFileStore(harness.storeFolder))
      val opened = tail(faulty, 3, _ => false)
      val expected = bucketOf(tail(faulty, 3, _ => true), 2)
      faulty.failNext(Fault.Before)
      assertThrows[UnavailableException](bucketOf(opened, 2))
      assert(bucketOf(opened, 2) == expected)
    }
  }
  test("whoever waits for a block that storage does not hand over ends when it is interrupted") {
    withFolder { folder =>
      val harness = new ProviderHarness(folder)
      written(harness, 1, 4)
      val hanging = new Hanging
      val store =
        new WatchedFileStore(new NioFileStore(harness.storeFolder), opening = _ => hanging())
      val opened = tail(store, 1, _ => false)
      val failure = hanging.interrupted {
        assert(opened.heapBytes == 0, "told without waiting")
        bucketOf(opened, 2)
      }
      assert(failure.isInstanceOf[UnavailableException], failure)
      assert(failure.getMessage.contains("1.changelog"), failure)
      assert(bucketOf(opened, 2) == bucketOf(tail(store, 1, _ => true), 2))
      assert(opened.heapBytes > 0 && store.openFiles == 0)
    }
  }
}
