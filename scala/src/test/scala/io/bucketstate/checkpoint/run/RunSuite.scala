package io.bucketstate.checkpoint.run

import java.nio.file.Path

import scala.util.{Random, Using}

import org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager

import io.bucketstate.checkpoint.io.{BlockCodec, FileStore, NioFileStore}
import io.bucketstate.checkpoint.records.Lookup
import io.bucketstate.checkpoint.run.read.{FilesByBucket, RunReaders}
import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.{ManagedStores, Runs, TempFolder, TidySuite}

/** Runs written and read back, alone and merged, against sorted maps. */
class RunSuite extends TidySuite {
  import Runs._

  private val stores = Seq[(String, Path => FileStore)](
    "nio" -> (new NioFileStore(_)),
    "hadoop" -> ManagedStores(classOf[FileContextBasedCheckpointFileManager])
  )

  private def inRoom(make: Path => FileStore, codec: BlockCodec = BlockCodec.Lz4)(
      body: Room => Any
  ): Unit = TempFolder.use { folder =>
    Using.resource(make(folder.resolve("store"))) { store =>
      Using.resource(new Room(store, folder.resolve("local"), codec))(body)
    }
    ()
  }

  for {
    (name, make) <- stores
    seed <- 1 to 8
  } test(s"$name: what was written is read, whole, by bucket and by key, seed $seed") {
    val random = new Random(seed.toLong)
    val (buckets, size) = (1 + random.nextInt(20), random.nextInt(2000))
    val content = Runs.random(random, size, buckets, maxValue = Seq(0, 60, 5000)(seed % 3))
    val oldest = seed % 2 == 0
    val expected = merged(Seq(content), dropRemovals = oldest)
    inRoom(make) { room =>
      val maxFileBytes = Seq(1L, 20000L, Long.MaxValue)(random.nextInt(3))
      val run = room.writer(maxFileBytes).write(VersionSpan(3, 9), cursor(content), oldest)
      assert(run.entries == expected.size && run.versions == VersionSpan(3, 9))
      assert(run.tombstones == expected.count(_._2.isEmpty))
      if (maxFileBytes == 1L) assert(run.files.size == expected.keySet.map(p => (p._1, p._2)).size)
      val listed = room.store.list("runs").map(f => f.name -> f.length).toMap
      assert(run.files.map(f => f.name -> f.bytes).toMap == listed)
      Using.resource(new RunReaders(room.local)) { readers =>
        assert(drain(readers.scanAll(Seq(run), dropRemovals = false)) == expected)
        for {
          family <- Seq(0, 1, 5, 700)
          first <- 0 until buckets
          last <- Seq(first, math.min(buckets - 1, first + random.nextInt(5)))
        } {
          val span = BucketSpan(family, first, last)
          assert(
            drain(readers.scan(Seq(run), span, dropRemovals = false)) == within(expected, span)
          )
        }
        expected.foreach { case (p, value) =>
          readers.get(new FilesByBucket(Seq(run)), p._1, p._2, keyOf(p)) match {
            case Lookup.Absent      => fail(s"$p is not found")
            case Lookup.Appended(_) => fail(s"$p is appended to")
            case Lookup.Removed     => assert(value.isEmpty)
            case Lookup.Found(r)    =>
              assert(value.map(v => (keyOf(p) ++ v).toSeq).contains(r.drop(1).toSeq))
          }
          val absent = keyOf(p) :+ 7.toByte
          assert(readers.get(new FilesByBucket(Seq(run)), p._1, p._2, absent) == Lookup.Absent)
        }
      }
    }
  }

  for {
    (name, make) <- stores
    seed <- 1 to 6
  } test(s"$name: merged runs are what a map says, seed $seed") {
    val random = new Random(100L + seed)
    val buckets = 1 + random.nextInt(8)
    val contents =
      Seq.fill(1 + random.nextInt(7))(Runs.random(random, random.nextInt(400), buckets))
    inRoom(make) { room =>
      val runs = contents.zipWithIndex.map { case (c, i) =>
        room.writer(2000).write(VersionSpan(1, 9), cursor(c), oldest = i == contents.size - 1)
      }
      val newestFirst = contents.init :+ merged(Seq(contents.last), dropRemovals = true)
      Using.resource(new RunReaders(room.local)) { readers =>
        for (drop <- Seq(false, true)) {
          val expected = merged(newestFirst, drop)
          assert(drain(readers.scanAll(runs, drop)) == expected)
          for (b <- 0 until buckets) {
            val span = BucketSpan(1, b, b)
            assert(drain(readers.scan(runs, span, drop)) == within(expected, span))
          }
          val again =
            room.writer().write(VersionSpan(1, 9), readers.scanAll(runs, drop), oldest = drop)
          assert(drain(readers.scanAll(Seq(again), dropRemovals = false)) == expected)
        }
        merged(newestFirst, dropRemovals = false).foreach { case (p, value) =>
          val found = readers.get(new FilesByBucket(runs), p._1, p._2, keyOf(p))
          assert(found.isInstanceOf[Lookup.Found] == value.nonEmpty)
        }
      }
    }
  }

  for (codec <- BlockCodec.all)
    test(s"a run compressed with $codec is read, and is small if it can be") {
      inRoom(new NioFileStore(_), codec) { room =>
        val content = nothing ++ (0 until 5000).map { i =>
          place(0, i / 1000, f"key-$i%06d".getBytes) -> Some(Seq.fill[Byte](100)((i % 3).toByte))
        }
        val run = room.write(content)
        assert((run.bytes < 100_000) == (codec != BlockCodec.Raw))
        Using.resource(new RunReaders(room.local)) { readers =>
          assert(drain(readers.scanAll(Seq(run), dropRemovals = false)) == content)
        }
      }
    }

  test("a run of nothing has no file, and one of removals has none when it is the oldest") {
    inRoom(new NioFileStore(_)) { room =>
      assert(room.write(nothing).files.isEmpty)
      assert(room.write(nothing + (place(0, 0, Array(1)) -> None), oldest = true).files.isEmpty)
      Using.resource(new RunReaders(room.local)) { readers =>
        val run = Run(VersionSpan(1, 1), Nil)
        assert(drain(readers.scanAll(Seq(run), dropRemovals = true)).isEmpty)
      }
    }
  }

  test("only a store that is not local keeps copies, which are used again and given up on demand") {
    for ((name, make) <- stores) inRoom(make) { room =>
      val run = room.write(nothing + (place(0, 0, Array(1)) -> Some(Seq[Byte](2))))
      def copies = room.localFiles
      assert(copies.isEmpty == (name == "nio"))
      val path = room.local.using(run.files.head)(identity)
      if (name != "nio") {
        room.store.delete(run.files.head.name)
        assert(room.local.using(run.files.head)(identity) == path)
        room.local.retain(Set.empty)
        assert(copies.isEmpty)
      }
    }
  }

  test("a cursor goes on when its reader is closed, and lets go when it is closed too") {
    inRoom(new NioFileStore(_)) { room =>
      val content = Runs.random(new Random(5), 500, 4)
      val run = room.write(content)
      val readers = new RunReaders(room.local)
      val open = readers.scanAll(Seq(run), dropRemovals = false)
      assert(open.advance())
      readers.close()
      assert(room.openFiles > 0)
      while (open.advance()) ()
      open.close()
      open.close()
      assert(room.openFiles == 0)
      assertThrows[IllegalStateException](readers.scanAll(Seq(run), dropRemovals = false))
    }
  }

  test("buckets and families that a run's keys cannot hold are refused") {
    inRoom(new NioFileStore(_)) { room =>
      for (bad <- Seq(place(0, 70000, Array(1)), place(70000, 0, Array(1))))
        assertThrows[InvalidException](room.write(nothing + (bad -> Some(Nil))))
      val most = nothing ++ Seq(place(65535, 32767, Array(1)) -> Some(Seq[Byte](1)))
      val run = room.write(most)
      Using.resource(new RunReaders(room.local)) { readers =>
        assert(
          drain(readers.scan(Seq(run), BucketSpan(65535, 0, 32767), dropRemovals = true)) == most
        )
      }
    }
  }
}
