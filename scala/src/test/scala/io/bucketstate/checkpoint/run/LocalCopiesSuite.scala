package io.bucketstate.checkpoint.run

import java.io.{FileOutputStream, IOException, OutputStream}
import java.nio.channels.FileChannel
import java.nio.file.{Files, Path, StandardOpenOption}
import java.util.concurrent.FutureTask

import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import org.scalatest.tags.Slow

import io.bucketstate.checkpoint.io.{BlockCodec, FileStore, NioFileStore, WorkFolder}
import io.bucketstate.checkpoint.records.Lookup
import io.bucketstate.checkpoint.run.open.{ReadLimits, SharedReads}
import io.bucketstate.checkpoint.run.read.{FilesByBucket, RunReaders}
import io.bucketstate.checkpoint.run.write.RunWriter
import io.bucketstate.checkpoint.sst.SstOptions
import io.bucketstate.config.ConfigKey
import io.bucketstate.error.{CorruptException, MissingException, UnavailableException}
import io.bucketstate.record.Record
import io.bucketstate.testkit.{TidySuite, _}

/** Copies of a remote checkpoint's runs that change or go while they are read, and a disk that has no room for them. */
@Slow
class LocalCopiesSuite extends TidySuite {
  import Runs._

  private val content = Runs.random(new Random(1), 3000, 8, maxValue = 200)

  /** @param handles how many files may be open */
  private final class Reading(store: FileStore, folder: WorkFolder, handles: Int = 1) {
    val local: LocalRuns = new LocalRuns(store, folder)
    val run: Run = new RunWriter(store, local, SstOptions(BlockCodec.Lz4, 500), 2000)
      .write(VersionSpan(1, 9), cursor(content), oldest = false)
    private val files = new FilesByBucket(Seq(run))
    private val shared = new SharedReads

    def use[A](body: RunReaders => A): A =
      Using.resource(new RunReaders(local, shared.join(ReadLimits(0, handles))))(body)

    def lookUpAll(readers: RunReaders): Unit = lookUp(readers, content)

    def lookUp(readers: RunReaders, some: Content): Unit = some.foreach {
      case (p @ (f, b, _), value) =>
        readers.get(files, f, b, keyOf(p)) match {
          case Lookup.Found(r) => assert(value.contains(r.drop(Record.keyEnd(r)).toSeq), p)
          case other           => assert(other == Lookup.Removed && value.isEmpty, p)
        }
    }

    /** Asks for keys that are not there, so that filters are read. */
    def lookUpInVain(readers: RunReaders, some: Content): Unit =
      some.keys.foreach { case p @ (f, b, _) =>
        assert(readers.get(files, f, b, keyOf(p) :+ 77) == Lookup.Absent)
      }

    def copies: Seq[Path] =
      Using
        .resource(Files.list(folder.path))(_.iterator.asScala.toList)
        .filter(_.toString.endsWith(".sst"))
  }

  private def withCopies(handles: Int)(body: (MemoryFileStore, Reading) => Any): Unit =
    TempFolder.use { folder =>
      val store = new MemoryFileStore
      body(store, new Reading(store, WorkFolder(folder, temporary = true), handles))
    }

  test("copies that are gone when they are opened again are fetched again") {
    withCopies(handles = 1) { (_, reading) =>
      reading.use { readers =>
        reading.lookUpAll(readers)
        val before = reading.copies
        assert(before.size > 5)
        before.foreach(Files.delete)
        reading.lookUpAll(readers)
        // That which was open when it was deleted is still read.
        assert(before.diff(reading.copies).size <= 1)
      }
    }
  }

  test("a copy of another length is fetched again when it is opened again") {
    withCopies(handles = 1) { (_, reading) =>
      reading.use { readers =>
        reading.lookUpAll(readers)
        reading.copies.foreach(copy => Files.write(copy, Files.readAllBytes(copy).drop(9)))
        reading.lookUpAll(readers)
      }
    }
  }

  for (handles <- Seq(1, 100))
    test(s"a copy that is damaged while it is read is fetched again, with $handles open files") {
      withCopies(handles) { (store, reading) =>
        reading.use { readers =>
          reading.lookUpAll(readers)
          for (round <- 1 to 3) {
            reading.copies.foreach(Damage.at(_, round))
            reading.lookUpAll(readers)
            reading.copies.foreach(Damage.at(_, round))
            assert(drain(readers.scanAll(Seq(reading.run), dropRemovals = false)) == content)
          }
          val name = reading.run.files.head.name
          val copy = reading.copies.find(path => name.endsWith(path.getFileName.toString)).get
          assert(Files.readAllBytes(copy).sameElements(store.read(name)))
        }
      }
    }

  test("a copy is read as a whole once; one that is cut short under a scan is fetched again") {
    withCopies(handles = 100) { (_, reading) =>
      reading.use { readers =>
        def scanned = drain(readers.scanAll(Seq(reading.run), dropRemovals = false))
        assert(scanned == content)
        val copies = reading.copies
        copies.foreach(Damage.at(_, 3))
        val damaged = copies.map(Files.readAllBytes(_).toSeq)
        reading.run.files.foreach(reading.local.verify)
        assert(copies.map(Files.readAllBytes(_).toSeq) == damaged)
        copies.foreach { copy =>
          Using.resource(FileChannel.open(copy, StandardOpenOption.WRITE)) { file =>
            file.truncate(Files.size(copy) / 2)
          }
        }
        assert(scanned == content)
      }
    }
  }

  test("a copy that is opened while another reader has it mended is not read as it was") {
    withCopies(handles = 100) { (_, reading) =>
      val file = reading.run.files.maxBy(_.bytes)
      val some = content.filter { case ((f, b, _), _) => file.holds(f, b) }
      reading.use { readers =>
        reading.lookUp(readers, some)
        val task = new FutureTask[Unit](() => reading.lookUp(readers, some.take(1)))
        val reader = new Thread(task)
        // Who holds the copy has its mending wait, and may open it meanwhile.
        reading.local.using(file) { copy =>
          Damage.at(copy, 3)
          reader.start()
          Hanging.awaitWaiting(reader)
          reading.lookUp(readers, some.takeRight(1))
        }
        task.get()
      }
    }
  }

  for (
    (name, work) <- Seq[(String, Reading => RunReaders => Any)](
      "reads it, too" -> (reading => readers => reading.lookUp(readers, content.take(1))),
      "has it opened" -> (reading => _ => reading.local.using(reading.run.files.head)(_ => ()))
    )
  ) test(s"whoever $name while storage does not hand a copy over ends when it is interrupted") {
    TempFolder.use { folder =>
      val hanging = new Hanging
      val store = new WatchedFileStore(new MemoryFileStore, opening = _ => hanging())
      val reading = new Reading(store, WorkFolder(folder, temporary = true))
      reading.use { readers =>
        reading.lookUpAll(readers)
        reading.copies.foreach(Files.delete)
        val failure = hanging.interrupted(work(reading)(readers))
        assert(failure.isInstanceOf[UnavailableException], failure)
        assert(failure.getMessage.contains("interrupted while another thread reads it"), failure)
        reading.lookUpAll(readers)
      }
      assert(store.openFiles == 0)
    }
  }

  test("whatever byte changes under a reader, of data, index or filter, no answer is wrong") {
    withCopies(handles = 100) { (store, reading) =>
      val file = reading.run.files.maxBy(_.bytes)
      val some = content.filter { case ((f, b, _), _) => file.holds(f, b) }
      val copy = reading.copies.find(path => file.name.endsWith(path.getFileName.toString)).get
      val right = store.read(file.name)
      def ask(readers: RunReaders): Unit = {
        reading.lookUp(readers, some)
        reading.lookUpInVain(readers, some)
      }
      reading.use { readers =>
        ask(readers)
        val places = Seeds.oneOf(5, right.indices, 1)
        for (place <- places) {
          Damage.at(copy, place)
          ask(readers)
          Files.write(copy, right)
        }
        // Where it cannot be fetched again.
        store.put(file.name, right.map(b => (b ^ 1).toByte))
        var told = 0
        for (place <- places) {
          Damage.at(copy, place)
          try ask(readers)
          catch { case _: CorruptException => told += 1 }
          Files.write(copy, right)
        }
        assert(told > places.size / 2, "all but what is read once")
      }
    }
  }

  test("what is damaged in the checkpoint, too, is its damage; and right again when that is") {
    withCopies(handles = 100) { (store, reading) =>
      reading.use { readers =>
        reading.lookUpAll(readers)
        val right = reading.run.files.map(file => file.name -> store.read(file.name))
        for ((name, bytes) <- right) {
          val other = bytes.clone()
          other(3) = (other(3) ^ 1).toByte
          store.put(name, other)
        }
        reading.copies.foreach(Damage.at(_, 3))
        for (_ <- 1 to 2) {
          val e = intercept[CorruptException](reading.lookUpAll(readers))
          assert(right.exists { case (name, _) => e.file == s"memory:/$name" }, e)
        }
        right.foreach { case (name, _) => store.delete(name) }
        assertThrows[MissingException](reading.lookUpAll(readers))
        right.foreach { case (name, bytes) => store.put(name, bytes) }
        reading.lookUpAll(readers)
      }
    }
  }

  test("the checkpoint's own file is never changed: its damage is told at once") {
    TempFolder.use { folder =>
      val store = new NioFileStore(folder.resolve("store"))
      val reading = new Reading(store, WorkFolder(folder.resolve("work"), temporary = true))
      reading.use { readers =>
        reading.lookUpAll(readers)
        val path = folder.resolve("store").resolve(reading.run.files.last.name)
        Damage.at(path, 5)
        val damaged = Files.readAllBytes(path).toSeq
        val e = intercept[CorruptException](reading.lookUpAll(readers))
        assert(e.file == path.toString && Files.readAllBytes(path).toSeq == damaged)
      }
    }
  }

  /** A disk with room for some bytes: what does not fit is written as far as it does. */
  private final class Disk(@volatile var room: Long) {
    def create(path: Path): OutputStream = new FileOutputStream(path.toFile) {
      override def write(b: Array[Byte]): Unit = write(b, 0, b.length)
      override def write(b: Array[Byte], off: Int, len: Int): Unit = {
        val fits = math.min(len.toLong, room).toInt
        super.write(b, off, fits)
        room -= fits
        if (fits < len) throw new IOException("No space left on device")
      }
    }
  }

  private def isTold(e: UnavailableException, folder: Path): Boolean =
    e.file.startsWith(folder.toString) && e.getMessage.contains(ConfigKey.LocalDir.key) &&
      e.getMessage.contains("No space left")

  test(
    "a disk that is full while a copy is fetched: an error that says so, nothing left, then a retry"
  ) {
    TempFolder.use { folder =>
      val store = new MemoryFileStore
      new Reading(store, WorkFolder(folder.resolve("writer"), temporary = true)).run.files.foreach {
        file =>
          val disk = new Disk(0)
          val place = folder.resolve("reader")
          val local = new LocalRuns(store, WorkFolder(place, temporary = true, disk.create))
          for (room <- Seq(0L, 1L, file.bytes / 2, file.bytes - 1)) {
            disk.room = room
            val e = intercept[UnavailableException](local.using(file)(identity))
            assert(isTold(e, place), e)
            assert(Using.resource(Files.list(place))(_.count) == 0, "no half file")
          }
          disk.room = file.bytes
          val copy = local.using(file)(identity)
          assert(Files.readAllBytes(copy).sameElements(store.read(file.name)))
          Files.delete(copy)
      }
    }
  }

  test(
    "a disk that is full while a run is written: an error that says so, nothing left, then a retry"
  ) {
    for (isRemote <- Seq(true, false)) TempFolder.use { folder =>
      val store = if (isRemote) new MemoryFileStore else new NioFileStore(folder.resolve("store"))
      val disk = new Disk(0)
      val place = folder.resolve("work")
      val local = new LocalRuns(store, WorkFolder(place, temporary = true, disk.create))
      val writer = new RunWriter(store, local, SstOptions(BlockCodec.Raw, 500), 2000)
      def write() = writer.write(VersionSpan(1, 9), cursor(content), oldest = false)
      val bytes = { disk.room = Long.MaxValue; write().bytes }
      for (room <- Seq(0L, 100L, 2100L, bytes / 2, bytes - 1)) {
        val before = store.list("runs").map(_.name).toSet
        disk.room = room
        val e = intercept[UnavailableException](write())
        assert(isTold(e, place), e)
        val left = Using.resource(Files.list(place))(_.iterator.asScala.map(_.toString).toList)
        assert(!left.exists(_.endsWith(".unfinished")))
        assert(store.list("runs").map(_.name).toSet == before, "what was uploaded is deleted")
      }
      disk.room = bytes
      assert(write().bytes == bytes)
    }
  }

  test("a folder that cannot be made is told in the setting's name") {
    TempFolder.use { folder =>
      val file = Files.write(folder.resolve("a file"), Array[Byte](1))
      val local =
        new LocalRuns(new MemoryFileStore, WorkFolder(file.resolve("x"), temporary = true))
      val e = intercept[UnavailableException](local.workFile("runs/1-0-x.sst"))
      assert(e.getMessage.contains(ConfigKey.LocalDir.key) && e.file.startsWith(file.toString))
    }
  }
}
