package io.bucketstate.testkit

import java.io.{IOException, OutputStream}
import java.nio.file.{Files, Path}
import java.util.Random
import java.util.concurrent.{Callable, Executors, TimeUnit}

import scala.util.Using

import io.bucketstate.checkpoint.io.{CheckpointFiles, FileStore, TemporaryName}
import io.bucketstate.error._
import io.bucketstate.testkit.TidySuite

/**
 * A kind of [[FileStore]] that is held to its contract, with what the contract leaves to it.
 *
 * @param make            a store for the folder that has the name of this local one
 * @param isLocal         whether its files have local paths
 * @param keepsReplaced   whether who opened a file can go on reading it when it was replaced
 * @param replacesAtOnce  whether a file that is being replaced is there all the time
 * @param failsWhileReplaced whether reading a file that is just being replaced may be told to be impossible
 * @param refusesToReplace whether a file that is to be new is not written where there is one
 * @param tellsCauses     whether an error repeats what the storage said
 */
final case class StoreKind(
    name: String,
    make: Path => FileStore,
    isLocal: Boolean = false,
    keepsReplaced: Boolean = true,
    replacesAtOnce: Boolean = true,
    failsWhileReplaced: Boolean = false,
    refusesToReplace: Boolean = false,
    tellsCauses: Boolean = true
)

/** The guarantees of [[FileStore]] as tests, for two kinds that share their folders, or for one. */
trait FileStoreContract extends TidySuite {

  protected def bytes(size: Int, seed: Int = 0): Array[Byte] = {
    val b = new Array[Byte](size)
    new Random(seed.toLong).nextBytes(b)
    b
  }

  /** What one kind writes, the other reads. */
  protected def contract(writes: StoreKind, reads: StoreKind): Unit = {
    def pairTest(what: String)(body: (FileStore, FileStore) => Any): Unit =
      test(s"${writes.name} writes, ${reads.name} reads: $what") {
        TempFolder.use { f =>
          val folder = f.resolve("a b%20c% ü–コ")
          Using.resources(writes.make(folder), reads.make(folder)) { (writer, reader) =>
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
        assert(reader.read(s"$size.changelog", Some(size.toLong)).sameElements(content))
        Using.resource(reader.open(s"$size.changelog", Some(size.toLong), inOrder = true)) { file =>
          val parts = (0 until size by 100_000).map { from =>
            file.read(from.toLong, math.min(100_000, size - from))
          }
          assert(parts.flatten.toArray.sameElements(content))
        }
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
          if (reads.keepsReplaced) {
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
      assert(!writes.tellsCauses || e.getMessage.contains("disk on fire"))
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
      assertThrows[MissingException](reader.read("1.changelog", Some(10L)))
      assertThrows[MissingException] {
        Using.resource(reader.open("1.changelog", Some(10L)))(_.read(0L, 10))
      }
      assert(!reader.exists("1.changelog"))
      assert(reader.list("runs").isEmpty)
      reader.delete("1.changelog")
      reader.delete("runs/x")
      assert(reader.deleteAll(Seq("1.changelog", "runs/x")).isEmpty)
    }

    pairTest("a file that is longer than it is said to be is read whole") { (writer, reader) =>
      for ((size, said) <- Seq(1000 -> 999L, 1000 -> 1L, 300_000 -> 0L, 1_500_000 -> 70_000L)) {
        writer.write("1.changelog")(_.write(bytes(size, size)))
        assert(reader.read("1.changelog", Some(said)).sameElements(bytes(size, size)))
      }
    }

    pairTest("a new file is written, and what it would replace is left where that is refused") {
      (writer, reader) =>
        assert(writer.writeNew("1.changelog")(_.write(bytes(1000, 1))))
        assert(reader.read("1.changelog").sameElements(bytes(1000, 1)))
        val isReplaced = writer.writeNew("1.changelog")(_.write(bytes(900, 2)))
        assert(isReplaced == !writes.refusesToReplace)
        val left = if (isReplaced) bytes(900, 2) else bytes(1000, 1)
        assert(reader.read("1.changelog").sameElements(left))
        assertThrows[UnavailableException] {
          writer.writeNew("2.changelog")(_ => throw new IOException("disk on fire"))
        }
        assert(!reader.exists("2.changelog"))
    }

    pairTest("many files are deleted together") { (writer, reader) =>
      val names = Seq("1.changelog", "2.changelog", "runs/x", "runs/y")
      names.foreach(writer.write(_)(_.write(1)))
      assert(reader.deleteAll(names.take(3)).isEmpty)
      assert((reader.list() ++ reader.list("runs")).map(_.name) == Seq("runs/y"))
    }

    pairTest("the local path, if there is one, is where the file lies") { (writer, reader) =>
      assert(reader.localPath("runs/x").isDefined == reads.isLocal)
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
      writer.write("other/x")(_.write(1))
      assert(reader.listAll().map(_.name).toSet == Set("2.manifest", "runs/x"))
      reader.delete(run.name)
      assert(writer.list("runs").isEmpty)
    }
  }

  /**
   * What is read while it is replaced.
   *
   * @param writes how often it is
   */
  protected def neverHalf(kind: StoreKind, writes: Int): Unit =
    test(s"${kind.name}: readers never see half a file while others replace it") {
      TempFolder.use { folder =>
        Using.resource(kind.make(folder)) { store =>
          def content(fill: Int) = Array.fill(200_000)(fill.toByte)
          store.write("1.changelog")(_.write(content(0)))
          val pool = Executors.newFixedThreadPool(2)
          val writing: Callable[Unit] = () =>
            for (i <- 1 to writes) store.write("1.changelog") { out =>
              content(i).grouped(7000).foreach(out.write)
            }
          try {
            val all = Seq.fill(if (kind.replacesAtOnce) 2 else 1)(pool.submit(writing))
            while (!all.forall(_.isDone))
              try {
                val read = store.read("1.changelog")
                assert(read.length == 200_000 && read.forall(_ == read(0)))
              } catch {
                case _: MissingException if !kind.replacesAtOnce        => ()
                case _: UnavailableException if kind.failsWhileReplaced => ()
              }
            all.foreach(_.get(1, TimeUnit.MINUTES))
          } finally pool.shutdown()
          assert(store.read("1.changelog").sameElements(content(writes)))
        }
      }
    }
}
