package io.bucketstate.checkpoint.run.read

import java.nio.file.Files
import java.nio.file.attribute.FileTime
import java.time.{Clock, Duration, Instant, ZoneOffset}
import java.util.concurrent.atomic.{AtomicBoolean, AtomicReference}

import scala.util.{Random, Using}

import io.bucketstate.checkpoint.io.{BlockCodec, NioFileStore, WorkFolder}
import io.bucketstate.checkpoint.records.Lookup
import io.bucketstate.checkpoint.run.write.RunWriter
import io.bucketstate.checkpoint.run.{LocalRuns, LookUp, VersionSpan}
import io.bucketstate.checkpoint.sst.SstOptions
import io.bucketstate.error.BucketstateException
import io.bucketstate.record.KeyRange
import io.bucketstate.testkit.{LeftOvers, MemoryFileStore, Runs, TempFolder, TidySuite}

/** Who reads a run's file, and who gives it up meanwhile. */
class RunReadersSuite extends TidySuite {
  import Runs._

  test("a reader that was given up is open for whoever holds it") {
    TempFolder.use { folder =>
      Using.resource(new Room(new NioFileStore(folder.resolve("s")), folder.resolve("l"))) { room =>
        val content = Runs.random(new Random(1), 300, 4)
        val run = room.write(content)
        val reader = RunFileReader.open(run.files.head, room.local)
        assert(reader.tryHold())
        reader.close()
        assert(drain(reader.scanAll()) == content)
        val (place, value) = content.head
        val found = LookUp.in(reader, place._1, place._2, keyOf(place))
        assert(found.isInstanceOf[Lookup.Found] == value.nonEmpty)
        reader.release()
        assertThrows[IllegalStateException](reader.scanAll())
      }
    }
  }

  test("a look-up or a scan that finds damage, or no file, holds nothing") {
    TempFolder.use { folder =>
      val store = new NioFileStore(folder.resolve("s"))
      Using.resource(new Room(store, folder.resolve("l"))) { room =>
        val content = Runs.random(new Random(4), 300, 1)
        val run = room.write(content)
        val (place, _) = content.head
        val path = store.localPath(run.files.head.name).get
        val sound = Files.readAllBytes(path)
        // In the footer; in the properties; in the data that is looked up; in none, for all is gone.
        val bad = Seq(sound.length - 20, sound.length - 200, 5).map { i =>
          val flipped = sound.clone()
          flipped(i) = (flipped(i) ^ 1).toByte
          Some(flipped)
        } :+ None
        bad.foreach { bytes =>
          bytes.fold(Files.delete(path))(b => store.write(run.files.head.name)(_.write(b)))
          Using.resource(new RunReaders(room.local)) { readers =>
            val files = new FilesByBucket(Seq(run))
            for (_ <- 1 to 3) {
              assertThrows[BucketstateException](
                readers.get(files, place._1, place._2, keyOf(place))
              )
              assertThrows[BucketstateException](
                drain(readers.range(files, place._1, place._2, new KeyRange(null, null)))
              )
            }
          }
          assert(room.openFiles == 0 && LeftOvers.openFiles(folder).isEmpty)
        }
      }
    }
  }

  test("files that are given up again and again while others read them") {
    TempFolder.use { folder =>
      Using.resource(new Room(new NioFileStore(folder.resolve("s")), folder.resolve("l"))) { room =>
        val content = Runs.random(new Random(2), 50, 4)
        val run = room.writer(1).write(VersionSpan(1, 9), cursor(content), oldest = false)
        val some = content.headOption.map(_._1)
        val failure = new AtomicReference[Throwable]
        val over = new AtomicBoolean
        Using.resource(new RunReaders(room.local)) { readers =>
          val reading = Seq.fill(3)(
            new Thread(() =>
              try
                while (!over.get) {
                  assert(drain(readers.scanAll(Seq(run), dropRemovals = false)) == content)
                  some.foreach(p => readers.get(new FilesByBucket(Seq(run)), p._1, p._2, keyOf(p)))
                }
              catch { case e: Throwable => failure.compareAndSet(null, e) }
            )
          )
          reading.foreach(_.start())
          (1 to 20000).iterator.takeWhile(_ => failure.get == null).foreach { _ =>
            readers.retain(Set.empty)
          }
          over.set(true)
          reading.foreach(_.join())
        }
        Option(failure.get).foreach(throw _)
      }
    }
  }

  test("copies in a shared folder stay while somebody may want them") {
    TempFolder.use { folder =>
      val store = new MemoryFileStore
      val now = Instant.parse("2024-03-01T00:00:00Z")
      def local(at: Instant, temporary: Boolean) =
        new LocalRuns(store, WorkFolder(folder, temporary), Clock.fixed(at, ZoneOffset.UTC))
      val own = local(now, temporary = false)
      val run =
        new RunWriter(store, own, SstOptions(BlockCodec.Lz4, Runs.BlockBytes), Long.MaxValue)
          .write(VersionSpan(1, 1), cursor(Runs.random(new Random(3), 10, 1)), oldest = false)
      val copy = own.using(run.files.head)(identity)
      local(now.plus(Duration.ofMinutes(50)), temporary = false).retain(Set.empty)
      assert(Files.exists(copy), "another provider of the store wanted it just now")
      local(now.plus(Duration.ofMinutes(50)), temporary = false).using(run.files.head)(identity)
      local(now.plus(Duration.ofMinutes(70)), temporary = false).retain(Set.empty)
      assert(Files.exists(copy), "it was wanted again")
      val other = Files.createDirectories(folder.resolve("of another").resolve("kind"))
      Files.setLastModifiedTime(other.getParent, FileTime.from(now))
      local(now.plus(Duration.ofMinutes(111)), temporary = false).retain(Set.empty)
      assert(!Files.exists(copy))
      assert(Files.exists(other), "a folder is no copy")
      own.using(run.files.head)(identity)
      Files.setLastModifiedTime(copy, FileTime.from(now))
      local(now, temporary = true).retain(Set.empty)
      assert(!Files.exists(copy), "a folder of one's own is tidied at once")
    }
  }
}
