package io.bucketstate.rocksdb.state

import java.io.IOException
import java.nio.file.StandardOpenOption.WRITE
import java.nio.file.{Files, Path}
import java.util.UUID

import scala.jdk.CollectionConverters._
import scala.util.{Random, Using}

import io.bucketstate.checkpoint.io.{Attempt, WorkFolder}
import io.bucketstate.checkpoint.manifest.{LocalState, LocalStateFile, LocalStateFormat}
import io.bucketstate.error.UnavailableException
import io.bucketstate.record.BucketAssigner
import io.bucketstate.testkit.{Damage, FileSizeLimit, TempFolder, TextRecords, TidySuite}

/** What databases leave behind: what is taken of it, and what is passed over. */
class LocalStatesSuite extends TidySuite {
  import NativeStateSuite._

  private val history = Seq(Map[String, Option[String]]("a" -> Some("1"), "b" -> Some("2")))

  private def statesIn(folder: Path, buckets: Int = 4) =
    new LocalStates(folder, buckets, () => UUID.randomUUID())

  private def filesIn(folder: Path): Seq[Path] =
    Using.resource(Files.list(folder))(_.iterator.asScala.toSeq).sorted

  private def leftIn(folder: Path): Seq[Path] =
    filesIn(folder).filter(_.getFileName.toString.startsWith("local-"))

  /** @param body the folder, and what was left there */
  private def withLeft(body: (Path, WrittenVersion) => Unit): Unit = TempFolder.use { folder =>
    use(folder.resolve("before")) { database =>
      val version = writtenDown(history, database)
      statesIn(folder).leave(database, version)
      body(folder, version)
    }
  }

  private def commitOf(version: WrittenVersion) = Map(version.attempt -> version.commitId.get)

  /** What is taken into a folder in which nothing stays if that is nothing. */
  private def taken(states: LocalStates, commits: Map[Attempt, UUID]): Option[WrittenVersion] =
    TempFolder.use { place =>
      val found = states.take((version, id) => commits.get(version).contains(id), place)
      assert(found.isDefined == filesIn(place).nonEmpty)
      found
    }

  test("the newest of the commits wanted is taken, and one stays at a time") {
    withLeft { (folder, first) =>
      assert(taken(statesIn(folder), commitOf(first)).contains(first))
      use(folder.resolve("next")) { database =>
        val second = writtenDown(history ++ history, database)
        statesIn(folder).leave(database, second)
        assert(leftIn(folder).size == 1 && statesIn(folder).hasSome)
        assert(taken(statesIn(folder), commitOf(first) ++ commitOf(second)).contains(second))
        assert(taken(statesIn(folder), commitOf(first)).isEmpty)
      }
      statesIn(folder).forget()
      assert(!statesIn(folder).hasSome)
    }
  }

  test("a database whose files cannot be linked somewhere is sound, and goes on") {
    TempFolder.use { folder =>
      use(folder.resolve("db")) { database =>
        val version = writtenDown(history, database)
        val there = Files.createDirectory(folder.resolve("there"))
        for (target <- Seq(there, folder.resolve("none").resolve("such"))) {
          val failure = intercept[UnavailableException](database.linkTo(target))
          assert(failure.getMessage.contains("could not be linked"))
          assert(!database.hasFailed && filesIn(folder) == Seq(database.folder, there))
        }
        write(database, Map("a" -> None, "c" -> Some("3")))
        val state = database.capture(version)
        def found(key: String) =
          Option(state.find(0, TextRecords.key(key, new BucketAssigner(4))))
            .map(TextRecords.valueOf)
        assert(Seq("a", "b", "c").map(found) == Seq(None, Some("2"), Some("3")))
        state.release()
        statesIn(folder).leave(database, version)
        assert(leftIn(folder).size == 1)
      }
    }
  }

  test("a database that cannot write its own files while it is linked fails with its next write") {
    assume(FileSizeLimit.isAvailable)
    TempFolder.use { folder =>
      use(folder.resolve("db")) { database =>
        writtenDown(history, database)
        val random = new Random(1L)
        val large = Seq.fill(500)(random.alphanumeric.take(1000).mkString)
        write(database, large.zipWithIndex.map { case (v, n) => s"key $n" -> Option(v) }.toMap)
        FileSizeLimit.during(100L << 10) {
          assertThrows[UnavailableException](database.linkTo(folder.resolve("left")))
          assert(!database.hasFailed)
          assertThrows[UnavailableException](write(database, Map("c" -> Some("3"))))
        }
        assert(database.hasFailed)
      }
    }
  }

  test("where leaving fails nothing half made stays, and what was left before does") {
    withLeft { (folder, first) =>
      use(folder.resolve("next")) { database =>
        val second = writtenDown(history ++ history, database)
        val id = UUID.randomUUID()
        val inTheWay = folder.resolve(s"local-$id")
        Files.createDirectories(inTheWay.resolve("of somebody else"))
        assertThrows[IOException](new LocalStates(folder, 4, () => id).leave(database, second))
        assert(!filesIn(database.folder).exists(_.getFileName.toString.startsWith("leaving")))
        assert(!database.hasFailed)
        WorkFolder.deleteAll(inTheWay)
        assert(taken(statesIn(folder), commitOf(first) ++ commitOf(second)).contains(first))
        statesIn(folder).leave(database, second)
        assert(taken(statesIn(folder), commitOf(first) ++ commitOf(second)).contains(second))
      }
    }
  }

  test("what is of another commit, attempt or number of buckets is passed over") {
    withLeft { (folder, version) =>
      val Attempt(number, _) = version.attempt
      val others = Seq(
        Map(version.attempt -> UUID.randomUUID()),
        Map(Attempt(number, Some("id")) -> version.commitId.get),
        Map(Attempt(number + 1) -> version.commitId.get),
        Map.empty[Attempt, UUID]
      )
      others.foreach(commits => assert(taken(statesIn(folder), commits).isEmpty))
      assert(taken(statesIn(folder, buckets = 8), commitOf(version)).isEmpty)
    }
  }

  private val damages = Seq[(String, Path => Unit)](
    "gone" -> (Files.delete(_)),
    "cut" -> (file =>
      Using.resource(Files.newByteChannel(file, WRITE)) { c =>
        c.truncate(c.size - 1); ()
      }
    ),
    "longer" -> (file => {
      Files.write(file, Files.readAllBytes(file) :+ 0.toByte); ()
    }),
    "empty" -> (file => { Files.write(file, Array.emptyByteArray); () })
  )

  damages.foreach { case (name, damage) =>
    test(s"what has a file that is $name is passed over, whichever that is") {
      withLeft { (folder, version) =>
        // RocksDB's own log, which nothing is written to, cannot lose anything.
        val names =
          filesIn(leftIn(folder).head).filter(Files.size(_) > 0).map(_.getFileName.toString)
        assert(names.exists(_.endsWith(".sst")) && names.contains("CURRENT"))
        names.foreach { file =>
          statesIn(folder).forget()
          use(folder.resolve(s"again $file")) { database =>
            statesIn(folder).leave(database, writtenDown(history, database))
          }
          val found = leftIn(folder).head
          filesIn(found)
            .filter(path => kindOf(path.getFileName.toString) == kindOf(file))
            .foreach(damage)
          assert(taken(statesIn(folder), commitOf(version)).isEmpty, file)
        }
      }
    }
  }

  test("a changed byte in what is not data is found") {
    withLeft { (folder, version) =>
      val left = leftIn(folder).head
      val small = filesIn(left).filter(Files.size(_) > 0).filterNot(_.toString.endsWith(".sst"))
      assert(small.size >= 4)
      small.foreach { file =>
        val bytes = Files.readAllBytes(file)
        Damage.middleOf(file)
        assert(taken(statesIn(folder), commitOf(version)).isEmpty, file)
        Files.write(file, bytes)
      }
      assert(taken(statesIn(folder), commitOf(version)).contains(version))
    }
  }

  test("names that lead out of the folder are not followed, and nothing there is touched") {
    TempFolder.use { folder =>
      val outside = Files.write(folder.resolve("outside.sst"), Array[Byte](1, 2, 3))
      val version = WrittenVersion(Attempt(1L), Some(UUID.randomUUID()), Nil)
      val names =
        Seq("../../outside.sst", "../outside.sst", outside.toString, "..", ".", "", "a/b", "a\\b")
      names.foreach { name =>
        val in = Files.createDirectories(folder.resolve("states").resolve("local-planted"))
        val state = LocalState(
          version.attempt,
          version.commitId.get,
          4,
          BucketAssigner.HashName,
          Nil,
          Seq(LocalStateFile(name, 3L, None))
        )
        Files.write(in.resolve("bucketstate.state"), LocalStateFormat.encode(state))
        assert(taken(statesIn(folder.resolve("states")), commitOf(version)).isEmpty, name)
        assert(Files.size(outside) == 3)
      }
    }
  }

  test("a link in place of a file is not followed") {
    withLeft { (folder, version) =>
      val file = filesIn(leftIn(folder).head).find(_.toString.endsWith(".sst")).get
      val target = Files.move(file, folder.resolve("elsewhere"))
      Files.createSymbolicLink(file, target)
      assert(taken(statesIn(folder), commitOf(version)).isEmpty)
    }
  }

  /** Numbers in names are not the same in each database. */
  private def kindOf(file: String): String = file.filterNot(_.isDigit)
}
