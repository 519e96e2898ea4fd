package io.bucketstate.checkpoint.records

import java.io.ByteArrayOutputStream

import scala.collection.immutable.SortedMap
import scala.util.{Random, Using}

import io.bucketstate.checkpoint.changelog.{ChangelogBuckets, ChangelogReader, ChangelogWriter}
import io.bucketstate.checkpoint.io.{Attempt, BlockCodec, NioFileStore}
import io.bucketstate.checkpoint.run.read.{FilesByBucket, RunReaders}
import io.bucketstate.checkpoint.run.{BucketSpan, VersionSpan}
import io.bucketstate.error.InvalidException
import io.bucketstate.record.{BucketAssigner, Record, RecordOp}
import io.bucketstate.testkit.{TidySuite, _}

/** Values appended over versions, in changelogs and runs: what merging makes of them, against a map. */
class MergeRecordsSuite extends TidySuite {
  private val numBuckets = 3
  private val Family = 0
  private val assigner = new BucketAssigner(numBuckets)

  private def bucketOf(key: Int): Int = assigner.bucket(assigner.hash(Array(key.toByte), 0, 1))

  /** What a version did to a key; every byte appended is different enough to show order and loss. */
  private type Version = SortedMap[Int, Write]

  private def version(random: Random): Version = SortedMap.from(
    (0 until 30).filter(_ => random.nextInt(3) > 0).map { key =>
      val value = Seq.fill(random.nextInt(5))(random.nextInt().toByte)
      val write = Write(bucketOf(key), Seq(key.toByte), Some(value))
      key -> (random.nextInt(5) match {
        case 0 => write
        case 1 => write.copy(value = None)
        case _ => write.copy(appended = true)
      })
    }
  )

  /** What versions come to, oldest first: each key's operation and bytes. */
  private def merged(versions: Seq[Version], oldest: Boolean): Map[Int, (Byte, Seq[Byte])] = {
    val all = versions.foldLeft(Map.empty[Int, (Byte, Seq[Byte])]) { (state, changes) =>
      state ++ changes.map {
        case (key, Write(_, _, None, _, _)) => key -> ((RecordOp.Remove, Seq.empty[Byte]))
        case (key, Write(_, _, Some(value), _, false)) => key -> ((RecordOp.Put, value))
        case (key, Write(_, _, Some(value), _, true))  =>
          key -> (state.get(key) match {
            case None                       => (RecordOp.Merge, value)
            case Some((RecordOp.Remove, _)) => (RecordOp.Put, value)
            case Some((op, before))         => (op, before ++ value)
          })
      }
    }
    if (!oldest) all
    else {
      all.collect {
        case (key, (op, bytes)) if op != RecordOp.Remove => key -> ((RecordOp.Put, bytes))
      }
    }
  }

  private def drain(cursor: RecordCursor): Map[Int, (Byte, Seq[Byte])] =
    Using.resource(cursor) { _ =>
      val all = Seq.newBuilder[(Int, (Byte, Seq[Byte]))]
      while (cursor.advance()) {
        val record = cursor.record
        val key = record(Record.keyStart(record)).toInt
        assert(cursor.family == Family && cursor.bucket == bucketOf(key))
        all += key -> ((cursor.op, record.drop(Record.keyEnd(record)).toSeq))
      }
      val found = all.result()
      assert(found.map(_._1).distinct.size == found.size, "each key once")
      found.toMap
    }

  private def changelogs(versions: Seq[Version]): Seq[BucketSource] = {
    val store = new MemoryFileStore
    Using.resource(new ChangelogWriter(blockBytes = 60)) { writer =>
      versions.zipWithIndex.foreach { case (changes, i) =>
        val family = Changes.family(Family, numBuckets, changes.values.toSeq)
        val out = new ByteArrayOutputStream
        writer
          .encode(Changes.header(i + 1L, numBuckets, BlockCodec.Lz4), Changes.set(Seq(family)))
          .writeTo(out)
        store.put(s"${i + 1}.changelog", out.toByteArray)
      }
    }
    versions.indices.map { i =>
      val reader = ChangelogReader.readWhole(store, Attempt(i + 1L))
      ChangelogBuckets.of(reader, "a changelog", Changes.places(assigner, Family))
    }
  }

  private def merger(versions: Seq[Version]): RecordCursor =
    new ChangeMerger(changelogs(versions).reverse, numBuckets)

  for (seed <- 1 to 30) test(s"changelogs and runs keep every value in its place, seed $seed") {
    TempFolder.use { folder =>
      val random = new Random(seed.toLong)
      val versions = Seq.fill(2 + random.nextInt(8))(version(random))
      assert(drain(merger(versions)) == merged(versions, oldest = false))
      Using.resources(
        new Runs.Room(new NioFileStore(folder.resolve("store")), folder.resolve("local")),
        new NioFileStore(folder.resolve("store"))
      ) { (room, store) =>
        store.createFolder()
        // The versions in some runs of neighbours, oldest first.
        val cuts = (1 until versions.size).filter(_ => random.nextBoolean())
        val spans = (0 +: cuts).zip(cuts :+ versions.size)
        val runs = spans.zipWithIndex.map { case ((from, until), i) =>
          room
            .writer(maxFileBytes = 200)
            .write(
              VersionSpan(from + 1L, until.toLong),
              merger(versions.slice(from, until)),
              oldest = i == 0
            )
        }
        Using.resource(new RunReaders(room.local)) { readers =>
          val newestFirst = runs.reverse
          val state = merged(versions, oldest = true)
          assert(drain(readers.scanAll(newestFirst, dropRemovals = true)) == state)
          for (n <- 1 until newestFirst.size) {
            val some = newestFirst.take(n)
            val newer = versions.drop(some.last.versions.first.toInt - 1)
            assert(
              drain(readers.scanAll(some, dropRemovals = false)) == merged(newer, oldest = false)
            )
          }
          for (bucket <- 0 until numBuckets) {
            val span = BucketSpan(Family, bucket, bucket)
            val expected = state.filter { case (key, _) => bucketOf(key) == bucket }
            assert(drain(readers.scan(newestFirst, span, dropRemovals = true)) == expected)
          }
          (0 until 30).foreach { key =>
            val found = readers.get(
              new FilesByBucket(newestFirst),
              Family,
              bucketOf(key),
              Array(key.toByte)
            )
            val value = found match {
              case Lookup.Found(record) => Some(record.drop(Record.keyEnd(record)).toSeq)
              case Lookup.Appended(_)   => fail("nothing is below the oldest run")
              case _                    => None
            }
            assert(value == state.get(key).map(_._2))
          }
          // Newer versions over runs, as a snapshot merges them.
          val (below, above) = spans.splitAt(spans.size / 2)
          val oldRuns = readers.scanAll(runs.take(below.size).reverse, dropRemovals = true)
          val newer = versions.drop(above.headOption.fold(versions.size)(_._1))
          val all = new RunMerge(Seq(merger(newer), oldRuns), dropRemovals = true)
          assert(drain(all) == state)
        }
      }
    }
  }

  test("values that come to more than can be kept are refused by the family and their size") {
    def of(value: String) = Record.of("k".getBytes, value.getBytes)
    def stack(newest: String) = {
      val some = new MergeStack(of(newest), RecordOp.Merge, family = 3, mostBytes = 10)
      some.add(of("1234"), RecordOp.Merge)
      some.add(of("12"), RecordOp.Put)
      some
    }
    assert(stack("56").record.length == 10)
    val failure = intercept[InvalidException](stack("567").record)
    assert(failure.getMessage.contains("column family number 3 and its values take 11 bytes"))
  }
}
