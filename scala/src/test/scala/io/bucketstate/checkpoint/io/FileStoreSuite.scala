package io.bucketstate.checkpoint.io

import java.io.{IOException, OutputStream}
import java.nio.file.{Files, Path}
import java.util.Random
import java.util.concurrent.{Callable, Executors, TimeUnit}

import scala.util.Using

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.execution.streaming.checkpointing.{
  FileContextBasedCheckpointFileManager,
  FileSystemBasedCheckpointFileManager
}
import org.scalatest.funsuite.AnyFunSuite

import io.bucketstate.error._
import io.bucketstate.testkit.{Fault, FaultyFileStore, MemoryFileStore, TempFolder}

/** The guarantees of [[FileStore]], of every implementation, each reading what the others wrote. */
class FileStoreSuite extends AnyFunSuite {
  private type Make = Path => FileStore

  private def managed(manager: Class[_]): Make = folder => {
    val conf = new Configuration
    conf.set(FileStores.FileManagerSetting, manager.getName)
    FileStores.forFolder(new HadoopPath(folder.toUri), conf)
  }

  private val nio: Make = f => FileStores.forFolder(new HadoopPath(f.toUri), new Configuration)
  private val hadoop = managed(classOf[FileContextBasedCheckpointFileManager])
  // The one of Hadoop's two ways to local files that makes `.crc` companions.
  private val hadoopWithCrc = managed(classOf[FileSystemBasedCheckpointFileManager])
  private val onDisk = Seq("nio" -> nio, "hadoop" -> hadoop, "hadoop+crc" -> hadoopWithCrc)
  private val memory: Make = {
    val stores = scala.collection.concurrent.TrieMap.empty[Path, FileStore]
    folder => stores.getOrElseUpdate(folder, new MemoryFileStore)
  }

  private def bytes(size: Int, seed: Int = 0): Array[Byte] = {
    val b = new Array[Byte](size)
    new Random(seed.toLong).nextBytes(b)
    b
  }

  private val pairs = (for {
    w <- onDisk
    r <- onDisk
  } yield (w, r)) :+
    (("memory" -> memory, "memory" -> memory))

  for (((writerName, makeWriter), (readerName, makeReader)) <- pairs) {
    def pairTest(what: String)(body: (FileStore, FileStore) => Any): Unit =
      test(s"$writerName writes, $readerName reads: $what") {
        TempFolder.use { f =>
          val folder = f.resolve("a b%20c% ü–コ")
          Using.resources(makeWriter(folder), makeReader(folder)) { (writer, reader) =>
            writer.createFolder()
            body(writer, reader)
          }
        }
        ()
      }

    pairTest("a local file is moved in whole, in place of what was there, or left where it is") {
      (writer, reader) =>
        TempFolder.use { folder =>
          for ((name, size) <- Seq("runs/a.sst" -> 70_000, "b.sst" -> 0, "runs/a.sst" -> 10)) {
            val content = bytes(size, size)
            val work = Files.write(folder.resolve("work"), content)
            val before = reader.exists(name)
            if (writer.moveIn(name, work)) {
              assert(!Files.exists(work))
              assert(reader.read(name).sameElements(content))
              writer.write(name)(_.write(content))
              assert(reader.read(name).sameElements(content))
            } else {
              assert(Files.readAllBytes(work).sameElements(content))
              assert(reader.exists(name) == before)
            }
          }
        }
    }

    pairTest("what was written is read, whole and in parts") { (writer, reader) =>
      for (size <- Seq(0, 1, 511, 512, 513, 70_000, 300_000)) {
        val content = bytes(size, size)
        writer.write(s"$size.changelog")(_.write(content))
        assert(reader.exists(s"$size.changelog"))
        assert(reader.read(s"$size.changelog").sameElements(content))
        assert(reader.readPrefix(s"$size.changelog", 512).sameElements(content.take(512)))
        Using.resource(reader.open(s"$size.changelog")) { file =>
          assert(file.length == size)
          assert(file.read(0, size).sameElements(content))
          assert(
            file
              .read((size / 2).toLong, size / 3)
              .sameElements(content.slice(size / 2, size / 2 + size / 3))
          )
          assertThrows[CorruptException](file.read(0, size + 1))
          assertThrows[CorruptException](file.read(size.toLong + 10, 1))
        }
      }
    }

    pairTest("the last writer wins, in both orders, and readers of the old file go on") {
      (writer, reader) =>
        writer.write("1.changelog")(_.write(bytes(1000, 1)))
        Using.resource(reader.open("1.changelog")) { old =>
          reader.write("1.changelog")(_.write(bytes(900, 2)))
          assert(writer.read("1.changelog").sameElements(bytes(900, 2)))
          // Hadoop's checksummed local file system opens the file anew for each read.
          if (readerName != "hadoop+crc") {
            assert(old.read(0, 1000).sameElements(bytes(1000, 1)))
          }
        }
        writer.write("1.changelog")(_.write(bytes(800, 3)))
        assert(reader.read("1.changelog").sameElements(bytes(800, 3)))
        assert(writer.list().map(f => f.name -> f.length) == Seq("1.changelog" -> 800L))
    }

    pairTest("a failed write leaves the name as it was") { (writer, reader) =>
      val fail = (out: OutputStream) => {
        out.write(bytes(100_000))
        throw new IOException("disk on fire")
      }
      val e = intercept[UnavailableException](writer.write("1.changelog")(fail))
      assert(writerName == "memory" || e.getMessage.contains("disk on fire"))
      assert(!reader.exists("1.changelog"))
      writer.write("1.changelog")(_.write(bytes(10)))
      assertThrows[UnavailableException](writer.write("1.changelog")(fail))
      assertThrows[IllegalStateException] {
        writer.write("1.changelog")(_ => throw new IllegalStateException("the caller's own"))
      }
      assert(reader.read("1.changelog").sameElements(bytes(10)))
      val others = reader.list().map(_.name).filter(_ != "1.changelog")
      assert(
        others.forall(n => CheckpointFiles.parse(n).exists(_.isInstanceOf[TemporaryName]))
      )
    }

    pairTest("what is missing is an error of its own, and deleting it is none") { (_, reader) =>
      assertThrows[MissingException](reader.open("1.changelog"))
      assertThrows[MissingException](reader.read("1.changelog"))
      assertThrows[MissingException](reader.readPrefix("runs/x", 10))
      assert(!reader.exists("1.changelog"))
      assert(reader.list("runs").isEmpty)
      reader.delete("1.changelog")
      reader.delete("runs/x")
    }

    pairTest("the local path, if there is one, is where the file lies") { (writer, reader) =>
      assert(reader.localPath("runs/x").isDefined == (readerName == "nio"))
      writer.write("runs/x")(_.write(bytes(1000)))
      reader
        .localPath("runs/x")
        .foreach(p => assert(Files.readAllBytes(p).sameElements(bytes(1000))))
    }

    pairTest("folders appear when needed and are listed apart") { (writer, reader) =>
      writer.write("runs/x")(_.write(bytes(10)))
      writer.write("2.manifest")(_.write(bytes(20)))
      assert(reader.list().map(_.name) == Seq("2.manifest"))
      val run = reader.list("runs").head
      assert(run.name == "runs/x" && run.length == 10)
      assert(reader.read(run.name).sameElements(bytes(10)))
      assert(reader.list("runs").size == 1)
      reader.delete(run.name)
      assert(writer.list("runs").isEmpty)
    }
  }

  for ((name, make) <- onDisk)
    test(s"$name: readers never see half a file while others replace it") {
      TempFolder.use { folder =>
        Using.resource(make(folder)) { store =>
          def content(fill: Int) = Array.fill(200_000)(fill.toByte)
          store.write("1.changelog")(_.write(content(0)))
          val pool = Executors.newFixedThreadPool(2)
          // Hadoop's local file system deletes before it renames, and keeps checksums apart.
          val tolerant = name != "nio"
          val writing: Callable[Unit] = () =>
            for (i <- 1 to 100) store.write("1.changelog") { out =>
              content(i).grouped(7000).foreach(out.write)
            }
          try {
            val all = Seq.fill(if (tolerant) 1 else 2)(pool.submit(writing))
            while (!all.forall(_.isDone))
              try {
                val read = store.read("1.changelog")
                assert(read.length == 200_000 && read.forall(_ == read(0)))
              } catch {
                case _: MissingException if tolerant                 => ()
                case _: UnavailableException if name == "hadoop+crc" => ()
              }
            all.foreach(_.get(1, TimeUnit.MINUTES))
          } finally pool.shutdown()
          assert(store.read("1.changelog").sameElements(content(100)))
        }
      }
    }

  test("the store is chosen by scheme, default file system, and the user's own file manager") {
    val conf = new Configuration
    def made(path: String) =
      Using.resource(FileStores.forFolder(new HadoopPath(path), conf))(_.getClass)
    assert(made("file:/a/b") == classOf[NioFileStore])
    assert(made("/a/b") == classOf[NioFileStore])
    conf.set("fs.defaultFS", "viewfs://elsewhere/")
    assert(made("file:/a/b") == classOf[NioFileStore])
    conf.set(FileStores.FileManagerSetting, classOf[FileContextBasedCheckpointFileManager].getName)
    assert(made("file:/a/b") == classOf[HadoopFileStore])
  }

  test("nio removes the checksum that Hadoop left beside a file it replaces or deletes") {
    TempFolder.use { folder =>
      Using.resources(nio(folder), hadoopWithCrc(folder)) { (nioStore, hadoopStore) =>
        hadoopStore.write("1.changelog")(_.write(bytes(10)))
        val crc = folder.resolve(".1.changelog.crc")
        assert(Files.exists(crc))
        nioStore.write("1.changelog")(_.write(bytes(20, 1)))
        assert(!Files.exists(crc))
        hadoopStore.write("1.changelog")(_.write(bytes(10)))
        nioStore.delete("1.changelog")
        assert(!Files.exists(crc))
      }
    }
  }

  test("nio moves files in, also over one with a checksum of Hadoop's, and fails as a write does") {
    TempFolder.use { folder =>
      Using.resources(hadoopWithCrc(folder), nio(folder)) { (hadoop, local) =>
        hadoop.write("a.sst")(_.write(bytes(1000)))
        val work = Files.write(folder.resolve("work"), bytes(2000))
        assert(local.moveIn("a.sst", work))
        assert(hadoop.read("a.sst").sameElements(bytes(2000)))
        assertThrows[UnavailableException](local.moveIn("a.sst", work))
        assert(local.read("a.sst").sameElements(bytes(2000)))
      }
    }
  }

  test("an interrupted thread can still write and read locally") {
    TempFolder.use { folder =>
      Using.resource(nio(folder)) { store =>
        Thread.currentThread.interrupt()
        store.write("1.changelog")(_.write(bytes(100_000)))
        val read = store.read("1.changelog")
        assert(Thread.interrupted() && read.length == 100_000)
      }
    }
  }

  test("a faulty store fails the chosen calls in the chosen way") {
    val inner = new MemoryFileStore
    val store = new FaultyFileStore(inner)
    store.failAt(2, Fault.Before)
    store.failAt(3, Fault.After)
    store.failAt(4, Fault.Crash)
    store.write("1.changelog")(_.write(1))
    for (v <- 2 to 4)
      assertThrows[UnavailableException](store.write(s"$v.changelog")(_.write(bytes(100))))
    val (temporary, finished) = inner.list().map(_.name).sorted.partition(_.startsWith("."))
    assert(finished == Seq("1.changelog", "3.changelog"))
    assert(temporary.flatMap(CheckpointFiles.parse).collect { case TemporaryName(target, _, _) =>
      target
    } == Seq("4.changelog"))
    assert(inner.read(temporary.head).length == 50)
    assert(store.calls == 4 && store.log.last == "write 4.changelog")
  }
}
