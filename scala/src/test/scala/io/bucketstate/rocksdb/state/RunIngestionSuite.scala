package io.bucketstate.rocksdb.state

import java.util.UUID

import scala.util.{Random, Using}

import io.bucketstate.checkpoint.manifest.Manifest
import io.bucketstate.testkit.{
  LargeAppends,
  MemoryFileStore,
  SnapshotRoom,
  TempFolder,
  TextRecords,
  TidySuite
}

/** Databases that begin with a snapshot's runs: removals, appended values and files of several families keep their meaning. */
class RunIngestionSuite extends TidySuite {

  private def changes(random: Random): Map[String, Option[String]] =
    Seq
      .fill(1 + random.nextInt(30)) {
        val key = s"key-${random.nextInt(40)}"
        val named = if (random.nextInt(3) == 0) s"2/$key" else key
        named -> (random.nextInt(5) match {
          case 0     => None
          case 1 | 2 => Some("+" + "a" * random.nextInt(4))
          case _     => Some("v" * (1 + random.nextInt(20)))
        })
      }
      .toMap

  private def content(state: NativeState): Map[String, String] =
    Seq(0, 2).flatMap { family =>
      TextRecords.contentOf(state, family, numBuckets = 4).map { case (key, value) =>
        (if (family == 0) key else s"2/$key") -> value
      }
    }.toMap

  for {
    maxFileBytes <- Seq(1L, Long.MaxValue)
    seed <- 1 to 6
  }
    test(s"a database has what the manifest says, files of $maxFileBytes bytes, seed $seed") {
      val random = new Random(seed.toLong)
      TempFolder.use { folder =>
        val files = new MemoryFileStore
        Using.resource(
          new SnapshotRoom(files, folder, maxRuns = 6, maxFileBytes = maxFileBytes, familyCount = 3)
        ) { room =>
          var manifest: Manifest = null
          // Large beside the changes, so that these are runs of their own.
          room.commit(
            (0 until 300).map(n => s"${if (n % 2 == 0) "" else "2/"}old-$n" -> Some("v" * 50)): _*
          )
          (1 to 8).foreach { n =>
            val there = room.model(room.newest)
            room.commit(
              changes(random).filter { case (k, v) => v.isDefined || there.contains(k) }.toSeq: _*
            )
            if (n % 3 != 1) manifest = room.snapshotter.take(room.target(room.newest)).manifest
          }
          assert(manifest.runs.size > 1)
          NativeStateSuite.use(folder.resolve("db")) { database =>
            val written =
              new RunIngestion(room.runs, _ => true).into(database, manifest, () => true).get
            assert(written.version == 9)
            val state = database.capture(written)
            assert(content(state) == room.model(9))
            state.release()
          }
        }
      }
    }

  test("what a newer run appends is there once, in however many parts it is written") {
    TempFolder.use { folder =>
      Using.resource(new SnapshotRoom(new MemoryFileStore, folder, maxRuns = 6)) { room =>
        room.commit(LargeAppends.before: _*)
        room.snapshotter.take(room.target(1L))
        val toNothing = Map("new-1" -> Some("+1"), "new-2" -> Some("+2"))
        room.commit(LargeAppends.changes ++ toNothing: _*)
        val manifest = room.snapshotter.take(room.target(2L)).manifest
        assert(manifest.runs.size == 2)
        NativeStateSuite.use(folder.resolve("db")) { database =>
          val ingestion = new RunIngestion(room.runs, _ => true)
          val state = database.capture(ingestion.into(database, manifest, () => true).get)
          LargeAppends.requireSame(content(state), room.model(2L))
          state.release()
        }
      }
    }
  }

  for (values <- Seq("one value", "several values"))
    test(s"what was not wanted for a moment is not taken for the whole, $values") {
      TempFolder.use { folder =>
        val files = new MemoryFileStore
        Using.resource(new SnapshotRoom(files, folder, maxRuns = 6)) { room =>
          room.commit((0 until 300).map(n => s"old-$n" -> Some("v" * 50)): _*)
          room.snapshotter.take(room.target(1L))
          room.commit((0 until 9).map(n => s"new-$n" -> Some("v")): _*)
          val manifest = room.snapshotter.take(room.target(2L)).manifest
          assert(manifest.runs.size == 2)
          val ingestion = new RunIngestion(room.runs, _ => values == "several values")
          var asked = 0

          /** Whether the database is said to hold the version. */
          def begun(isWanted: Int => Boolean): Boolean = {
            asked = 0
            NativeStateSuite.use(folder.resolve(s"db ${UUID.randomUUID()}")) { database =>
              def now(): Boolean = {
                asked += 1
                isWanted(asked)
              }
              val written = ingestion.into(database, manifest, () => now())
              written.foreach { version =>
                val state = database.capture(version)
                assert(content(state) == room.model(2))
                state.release()
              }
              written.isDefined
            }
          }
          assert(begun(_ => true))
          val all = asked
          (1 to all).foreach(no => assert(!begun(_ != no) && asked == no))
        }
      }
    }
}
