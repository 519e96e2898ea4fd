package io.bucketstate.checkpoint.run

import java.nio.file.{Files, Path}

import scala.util.{Random, Using}

import org.scalatest.tags.Slow

import io.bucketstate.checkpoint.io.{
  BlockCodec,
  CheckpointFiles,
  Damage,
  FileStore,
  NioFileStore,
  RunName,
  WorkFolder
}
import io.bucketstate.checkpoint.manifest.Manifests
import io.bucketstate.checkpoint.records.{Lookup, RecordCursor}
import io.bucketstate.checkpoint.run.read.{FilesByBucket, RunFileReader, RunReaders}
import io.bucketstate.checkpoint.run.write.RunWriter
import io.bucketstate.checkpoint.sst.{SstBlocks, SstFooter, SstLayout, SstOptions}
import io.bucketstate.error.{CorruptException, MissingException, UnavailableException}
import io.bucketstate.record.Record
import io.bucketstate.testkit.{TidySuite, _}

/** Damaged, missing and half-written run files: always an error, never a key that is not there. */
@Slow
class RunDamageSuite extends TidySuite {
  import Runs._

  private def goldenIn(folder: Path) = new Manifests(new NioFileStore(folder)).read(GoldenRuns.file)

  private lazy val goldenBytes =
    for {
      folder <- GoldenRuns.folders
      file <- goldenIn(folder).runs.flatMap(_.files)
    } yield file -> Files.readAllBytes(folder.resolve(file.name))

  for (folder <- GoldenRuns.folders)
    test(s"golden runs are read, merged, and are the documented state: $folder") {
      val golden = goldenIn(folder)
      TempFolder.use { work =>
        Using.resource(new Room(new NioFileStore(folder), work)) { room =>
          Using.resource(new RunReaders(room.local)) { readers =>
            assert(drain(readers.scanAll(golden.runs, dropRemovals = true)) == GoldenRuns.state)
            assert(
              drain(readers.scanAll(golden.runs.take(1), dropRemovals = false)) ==
                GoldenRuns.newest ++ GoldenRuns.appended
            )
          }
        }
      }
      val text = Files.readString(folder.resolve(s"${GoldenRuns.file.name}.txt"))
      assert(text.linesIterator.toSeq == GoldenRuns.lines)
      assert(golden.runs.map(_.versions) == Seq(VersionSpan(8, 9), VersionSpan(1, 7)))
      assert(golden.runs(1).files.size > 1)
    }

  /** Opens and reads the file from a store that has to fetch it, and from one where it lies. */
  private def reading(file: RunFile, bytes: Array[Byte])(
      read: RunFileReader => Any
  ): Unit =
    TempFolder.use { folder =>
      val memory = new MemoryFileStore
      memory.put(file.name, bytes)
      val nio = new NioFileStore(folder.resolve("store"))
      nio.write(file.name)(_.write(bytes))
      for (store <- Seq(memory, nio))
        Using.resource(new Room(store, folder.resolve(store.getClass.getName))) { room =>
          Using.resource(RunFileReader.open(file, room.local))(read)
        }
    }

  test("every flipped byte of a run's file is found by its checksum") {
    for {
      (file, bytes) <- goldenBytes
      i <- Seeds.oneOf(8, bytes.indices, seed = bytes.length.toLong)
    } TempFolder.use { folder =>
      val flipped = bytes.clone()
      flipped(i) = (flipped(i) ^ (1 << (i % 8))).toByte
      val memory = new MemoryFileStore
      memory.put(file.name, flipped)
      val remote = localRuns(memory, folder.resolve("a"))
      val e = intercept[CorruptException](remote.using(file)(identity))
      assert(e.file == s"memory:/${file.name}" && e.getMessage.contains("expected checksum"))
      assert(Using.resource(Files.list(folder.resolve("a")))(_.count) == 0)
    }
  }

  test("every flipped byte is found where the file lies, before it is scanned") {
    val (file, bytes) = goldenBytes.minBy(_._2.length)
    TempFolder.use { folder =>
      val store = new NioFileStore(folder)
      for (i <- bytes.indices) {
        val flipped = bytes.clone()
        flipped(i) = (flipped(i) ^ 0x10).toByte
        store.write(file.name)(_.write(flipped))
        assertThrows[CorruptException](localRuns(store, folder).verify(file))
      }
    }
  }

  /** The ways of reading apart: damage that a scan meets must not go unseen by a lookup. */
  test("even with block checksums alone a flipped byte never changes or hides a key") {
    for ((file, bytes) <- goldenBytes) TempFolder.use { folder =>
      val store = new NioFileStore(folder.resolve("store"))
      val local = localRuns(store, folder.resolve("local"))
      def opened[A](read: RunFileReader => A): Option[A] =
        unlessDamaged(Using.resource(RunFileReader.open(file, local))(read))
      val run = Run(VersionSpan(1, 9), Seq(file))
      def searched[A](read: RunReaders => A): A =
        Using.resource(new RunReaders(local))(read)
      store.write(file.name)(_.write(bytes))
      val content = opened(r => drain(r.scanAll())).get

      /** Whether all keys can still be looked up; those that can must be right. */
      def areRight(get: (Int, Int, Array[Byte]) => Lookup, at: String): Boolean =
        content.toSeq
          .map { case (p, value) =>
            // A look-up in vain has the filter read before the next one.
            unlessDamaged(get(p._1, p._2, keyOf(p) :+ 9)).foreach { l =>
              assert(l == Lookup.Absent, s"$at, $p: $l")
            }
            val lookup = unlessDamaged(get(p._1, p._2, keyOf(p)))
            lookup.foreach(l => assert(isRight(l, value), s"$at, $p: $l"))
            lookup.nonEmpty
          }
          .forall(identity)
      var (scans, lookups) = (0, 0)
      val unseen = Seq.newBuilder[Int]
      val tried = Seeds.oneOf(12, bytes.indices, seed = bytes.length.toLong)
      for {
        i <- tried
        // The footer decides who reads a file.
        bit <- if (i >= bytes.length - SstFooter.Bytes) 0 until 8 else Seq(i % 8, (i + 3) % 8)
      } {
        val flipped = bytes.clone()
        flipped(i) = (flipped(i) ^ (1 << bit)).toByte
        store.write(file.name)(_.write(flipped))
        val scanned = opened(r => drain(r.scanAll()))
        scanned.foreach(found => assert(found == content, s"byte $i, bit $bit"))
        val at = s"byte $i, bit $bit"
        val lookedUp = searched(r => areRight(r.get(new FilesByBucket(Seq(run)), _, _, _), at))
        searched { r =>
          val files = new FilesByBucket(Seq(run))
          content.keysIterator.foreach { p =>
            assert(unlessDamaged(r.mayHold(files, p._1, p._2, keyOf(p))) != Some(false), s"$at, $p")
          }
        }
        if (scanned.isEmpty) scans += 1
        if (!lookedUp) lookups += 1
        if (scanned.nonEmpty && lookedUp) unseen += i
      }
      val bytesUnseen = unseen.result().distinct
      info(
        s"${file.name}, ${bytes.length} bytes: found by scans $scans, by lookups $lookups"
      )
      info(s"${bytesUnseen.size} bytes nobody uses: ${ranges(bytesUnseen)}")
      assert(bytesUnseen.size <= tried.size / 4)
    }
  }

  test("a flipped byte of an index or a filter in parts never changes or hides a key") {
    val random = new Random(7)
    def bytes(count: Int) = Seq.fill(count)(random.nextInt().toByte)
    val content =
      nothing ++ Seq.fill(2000)(place(0, random.nextInt(4), bytes(20).toArray) -> Some(bytes(30)))
    TempFolder.use { folder =>
      val store = new NioFileStore(folder.resolve("store"))
      val local = localRuns(store, folder.resolve("local"))
      val run = new RunWriter(store, local, SstOptions(BlockCodec.Lz4, 200), Long.MaxValue)
        .write(VersionSpan(1, 9), cursor(content), oldest = false)
      val file = run.files.head
      val sound = Files.readAllBytes(store.localPath(file.name).get)
      val some = content.keys.toSeq.sliding(1, 40).flatten.toSeq

      /** How many look-ups found damage; the others must be right. */
      def damaged(at: String): Int = Using.resource(new RunReaders(local)) { readers =>
        val files = new FilesByBucket(Seq(run))
        def found(p: Place, more: Seq[Byte]) =
          unlessDamaged(readers.get(files, p._1, p._2, keyOf(p) ++ more))
        some.map { p =>
          // A look-up in vain has the filter asked from then on.
          val absent = found(p, Seq(9))
          absent.foreach(l => assert(l == Lookup.Absent, s"$at, $p: $l"))
          val there = found(p, Nil)
          there.foreach(l => assert(isRight(l, content(p)), s"$at, $p: $l"))
          Seq(absent, there).count(_.isEmpty)
        }.sum
      }
      assert(damaged("sound") == 0)
      val layout = layoutOf(sound)
      assert(layout.index.count > 1 && layout.filter.isParted)
      val found = (layout.index.place(0).offset.toInt - 3000 until sound.length by 37).map { i =>
        val flipped = sound.clone()
        flipped(i) = (flipped(i) ^ (1 << (i % 8))).toByte
        store.write(file.name)(_.write(flipped))
        val scanned = unlessDamaged {
          Using.resource(RunFileReader.open(file, local))(r => drain(r.scanAll()))
        }
        scanned.foreach(all => assert(all == content, s"byte $i"))
        damaged(s"byte $i")
      }
      assert(found.count(_ > 0) > found.size * 2 / 3, "most bytes there are used")
      assert(
        found.exists(n => n > 0 && n < some.size),
        "damage of a part is that of its keys alone"
      )
    }
  }

  private def layoutOf(bytes: Array[Byte]): SstLayout = {
    val damage = new Damage("a test", "a run")
    val memory = new MemoryFileStore
    memory.put("runs/a", bytes)
    val source = memory.open("runs/a")
    val footer = SstFooter.read(source, damage)
    val blocks = new SstBlocks(source, footer, damage, () => false)
    SstLayout.read(blocks, footer.metaindex, damage)
  }

  private def localRuns(store: FileStore, folder: Path): LocalRuns =
    new LocalRuns(store, WorkFolder(folder, temporary = true))

  private def unlessDamaged[A](read: => A): Option[A] =
    try Some(read)
    catch { case _: CorruptException => None }

  private def isRight(lookup: Lookup, value: Option[Seq[Byte]]): Boolean = lookup match {
    case Lookup.Absent           => false
    case Lookup.Removed          => value.isEmpty
    case Lookup.Found(record)    => value.contains(record.drop(Record.keyEnd(record)).toSeq)
    case Lookup.Appended(record) => value.contains(record.drop(Record.keyEnd(record)).toSeq)
  }

  private def ranges(numbers: Seq[Int]): String = {
    val starts = numbers.filter(n => !numbers.contains(n - 1))
    val ends = numbers.filter(n => !numbers.contains(n + 1))
    starts.zip(ends).map { case (a, b) => s"$a-$b" }.mkString(", ")
  }

  test("every truncation, and what was appended, is found by length") {
    val (file, bytes) = goldenBytes.head
    for (n <- bytes.indices.by(7))
      assertThrows[CorruptException](reading(file, bytes.take(n))(_ => ()))
    assertThrows[CorruptException](reading(file, bytes :+ 0.toByte)(_ => ()))
  }

  test("a missing file is an error of its own, local or not") {
    TempFolder.use { folder =>
      for (store <- Seq(new MemoryFileStore, new NioFileStore(folder.resolve("s")))) {
        val file = goldenBytes.head._1
        val local = localRuns(store, folder.resolve("l"))
        assertThrows[MissingException](local.using(file)(identity))
        assertThrows[MissingException](local.verify(file))
      }
    }
  }

  test(
    "a local copy that is not what the manifest says is fetched again (SPARK-43404, SPARK-46796)"
  ) {
    TempFolder.use { folder =>
      val (file, bytes) = goldenBytes.head
      val memory = new MemoryFileStore
      memory.put(file.name, bytes)
      val local = localRuns(memory, folder)
      val path = local.using(file)(identity)
      for (damage <- Seq(bytes.take(10), bytes.map(b => (b ^ 1).toByte), bytes ++ bytes)) {
        Files.write(path, damage)
        assert(Files.readAllBytes(local.using(file)(identity)).sameElements(bytes))
      }
    }
  }

  test("a failed write leaves nothing: no file anywhere, none open, and the cursor closed") {
    val content = Runs.random(new Random(3), 400, 6)
    def files(fault: Option[(Int, Fault)]): (Int, Seq[String], Seq[String], Boolean) =
      TempFolder.use { folder =>
        val memory = new MemoryFileStore
        val store = new FaultyFileStore(memory)
        fault.foreach { case (n, f) => store.failAt(n, f) }
        Using.resource(new Room(store, folder)) { room =>
          var closed = false
          val inner = cursor(content)
          val watched = new RecordCursor {
            def advance(): Boolean = inner.advance()
            def family: Int = inner.family
            def bucket: Int = inner.bucket
            def record: Array[Byte] = inner.record
            def op: Byte = inner.op
            def close(): Unit = closed = true
          }
          def write() = room.writer(1).write(VersionSpan(1, 9), watched, oldest = false)
          if (fault.isEmpty) write() else assertThrows[UnavailableException](write())
          (store.calls, memory.list("runs").map(_.name), room.localFiles, closed)
        }
      }
    val calls = files(None)._1
    assert(calls > 5)
    for {
      n <- 1 to calls
      fault <- Seq(Fault.Before, Fault.After, Fault.Crash)
    } {
      val (_, remote, local, closed) = files(Some(n -> fault))
      val finished =
        remote.flatMap(CheckpointFiles.parse).collect { case r: RunName => r }
      assert(finished.isEmpty && closed, s"$fault at $n")
      assert(local.forall(name => !name.endsWith(".unfinished")), s"$fault at $n")
    }
  }

  test("records that come out of order or fail half way leave nothing either") {
    val store = new MemoryFileStore
    TempFolder.use { folder =>
      Using.resource(new Room(store, folder)) { room =>
        val inner = cursor(Runs.random(new Random(4), 300, 6))
        var left = 100
        val failing = new RecordCursor {
          def advance(): Boolean = {
            left -= 1
            if (left == 0) throw new IllegalStateException("half way")
            inner.advance()
          }
          def family: Int = inner.family
          def bucket: Int = inner.bucket
          def record: Array[Byte] = inner.record
          def op: Byte = inner.op
          def close(): Unit = ()
        }
        assertThrows[IllegalStateException](
          room.writer().write(VersionSpan(1, 9), failing, oldest = false)
        )
        assert(room.localFiles.isEmpty && store.list("runs").isEmpty)
      }
    }
  }
}
