package io.bucketstate.store

import java.util.UUID

import io.bucketstate.checkpoint.changelog.ChangelogReader
import io.bucketstate.checkpoint.io.{Attempt, FileStore, ManifestName}
import io.bucketstate.checkpoint.manifest.{Manifests, StoredVersion}
import io.bucketstate.error.{BucketstateException, ConflictException, MissingException}
import io.bucketstate.history.{CommitPoint, EarlierCommits}
import io.bucketstate.testkit.StoreHarness._
import io.bucketstate.testkit.{Refusal, StandsAlone, StoreHarness, TidySuite}

/** A version that is a manifest without a changelog, as what moves state leaves one. */
class StandsAloneSuite extends TidySuite {

  /** Some batches, of which one leaves a manifest; the ids of the versions. */
  private def grown(harness: StoreHarness, withIds: Boolean, alone: Long): Seq[Option[String]] = {
    val store = harness.open(withIds)
    val ids = (0L until 5L).foldLeft(Seq(Option.empty[String])) { (ids, version) =>
      val base = Attempt(version, ids.last)
      val session = store.openForWrite(base, forceSnapshot = version + 1 == alone)(s => s)
      change(session, s"k$version" -> Some("1"), "every" -> Some(s"${version + 1}"))
      session.commit()
      session.end()
      ids :+ session.ids.own
    }
    store.close()
    ids
  }

  private def modelOf(version: Long): Map[String, String] =
    (0L until version).map(v => s"k$v" -> "1").toMap + ("every" -> s"$version")

  for {
    withIds <- Seq(false, true)
    withOlder <- Seq(false, true)
  } {
    val what = s"checkpoint ids: $withIds, with what was before: $withOlder"

    test(s"a task reads it, writes on top of it and commits, $what") {
      use { harness =>
        val ids = grown(harness, withIds, alone = 5)
        StandsAlone.leave(harness.files, Attempt(5, ids(5)), withOlder)
        val store = harness.open(withIds)
        val reader = store.openForRead(Attempt(5, ids(5)))
        assert(contents(reader.table, 5) == modelOf(5))
        val session = store.openForWrite(Attempt(5, ids(5)), Some(reader))(s => s)
        change(session, "more" -> Some("6"))
        session.commit()
        session.end()
        reader.end()
        val again = batch(store, 5, ids(5))("more" -> Some("again"))
        assert(read(store, 6, again.ids.own) == modelOf(5) + ("more" -> "again"))
        store.close()
        val restarted = harness.open(withIds)
        assert(read(restarted, 6, again.ids.own) == modelOf(5) + ("more" -> "again"))
        assert(read(restarted, 5, ids(5)) == modelOf(5))
        restarted.close()
      }
    }

    test(s"it has a changelog neither before nor after a batch that is tried again, $what") {
      use { harness =>
        val ids = grown(harness, withIds, alone = 5)
        StandsAlone.leave(harness.files, Attempt(5, ids(5)), withOlder)
        val store = harness.open(withIds)
        for (_ <- 1 to 3) batch(store, 5, ids(5))("more" -> Some("6"))
        store.close()
        assert(!harness.files.exists(Attempt(5, ids(5)).changelog))
      }
    }
  }

  for (withIds <- Seq(false, true))
    test(s"what led to it is not known, and the error says so, checkpoint ids: $withIds") {
      use { harness =>
        val ids = grown(harness, withIds, alone = 3)
        StandsAlone.leave(harness.files, Attempt(3, ids(3)), withOlder = true)
        val store = harness.open(withIds)
        assert(store.changes(4, Attempt(5, ids(5)), "default").map(_.version).toSet == Set(4L, 5L))
        val calls = Seq[() => Any](
          () => store.changes(2, Attempt(5, ids(5)), "default").size,
          () => store.changes(3, Attempt(3, ids(3)), "default").size,
          () => store.replay(Attempt(2, ids(2)), Attempt(5, ids(5)))
        )
        calls.foreach { call =>
          val error = causeOf(call)
          assert(error.isInstanceOf[MissingException], error)
          assert(
            error.getMessage.contains("its state is in " + ManifestName(Attempt(3, ids(3))).name)
          )
        }
        val replayed = store.replay(Attempt(3, ids(3)), Attempt(5, ids(5)))
        assert(contents(replayed.table, 5) == modelOf(5))
        replayed.end()
        store.close()
      }
    }

  test("one that was written with checkpoint ids and is asked for without is told apart from none") {
    use { harness =>
      val ids = grown(harness, withIds = true, alone = 5)
      StandsAlone.leave(harness.files, Attempt(5, ids(5)), withOlder = false)
      val store = harness.open(withIds = false)
      val error = causeOf(() => write(store, 5))
      assert(error.getMessage.contains("checkpointFormatVersion=2"), error)
      store.close()
    }
  }

  test("memory that was made of another commit than the one that stands alone is not built on") {
    use { harness =>
      grown(harness, withIds = false, alone = 5)
      StandsAlone.leave(harness.files, Attempt(5), withOlder = true)
      val store = harness.open(withIds = false)
      val reader = store.openForRead(Attempt(5))
      replaced(harness.files, ManifestName(Attempt(5)))
      val session = write(store, 5)
      change(session, "more" -> Some("6"))
      assertThrows[ConflictException](session.commit())
      session.end()
      reader.end()
      batch(store, 5)("more" -> Some("6"))
      assert(read(store, 6) == modelOf(5) + ("more" -> "6"))
      store.close()
    }
  }

  for (withIds <- Seq(false, true))
    test(s"what is followed from it is found by its manifest, checkpoint ids: $withIds") {
      use { harness =>
        val ids = grown(harness, withIds, alone = 3)
        val points = (0 to 5).map { v =>
          val attempt = Attempt(v.toLong, ids(v))
          CommitPoint(attempt, Option.when(v > 0)(commitOf(harness.files, attempt)))
        }
        StandsAlone.leave(harness.files, Attempt(3, ids(3)), withOlder = true)
        assert(StoredVersion.of(harness.files, Attempt(3, ids(3))).commitId == points(3).commitId)
        val earlier = new EarlierCommits(harness.files)
        assert(earlier.between(points(3), points(5)) == points.slice(3, 5))
        assert(earlier.between(points(0), points(2)) == points.take(2))
        assert(earlier.between(points(2), points(5)).isEmpty, "nothing leads over it")
        val other = points(3).copy(commitId = Some(new UUID(9, 9)))
        assert(earlier.between(other, points(5)).isEmpty)
      }
    }

  test("a version with neither file is not there") {
    use { harness =>
      grown(harness, withIds = false, alone = 3)
      val error = intercept[MissingException](StoredVersion.of(harness.files, Attempt(7)))
      assert(error.file.endsWith("7.changelog"))
    }
  }

  private def causeOf(call: () => Any): BucketstateException =
    try fail(s"it gave ${call()}")
    catch {
      case Refusal.CannotLoad(why: BucketstateException) => why
      case own: BucketstateException                     => own
    }

  private def commitOf(files: FileStore, attempt: Attempt): UUID =
    ChangelogReader.readHeader(files, attempt).commitId

  /** The same state, written by somebody else. */
  private def replaced(files: FileStore, file: ManifestName): Unit = {
    val manifests = new Manifests(files)
    manifests.write(manifests.read(file).copy(commitId = Some(new UUID(7, 7))))
  }
}
