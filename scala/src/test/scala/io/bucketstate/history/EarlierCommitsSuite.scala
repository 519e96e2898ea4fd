package io.bucketstate.history

import scala.util.Using

import io.bucketstate.checkpoint.changelog.ChangelogReader
import io.bucketstate.checkpoint.io.Attempt
import io.bucketstate.testkit.{MemoryFileStore, SnapshotRoom, TempFolder, TidySuite}

/** Without checkpoint ids a commit may stand for two states: before and after a file below it was replaced. */
class EarlierCommitsSuite extends TidySuite {

  /** Versions 1 to 5, each built on the one before; then an attempt that was given up for lost makes some of them anew. */
  private def replaced(versions: Long*)(
      body: (MemoryFileStore, EarlierCommits, Seq[CommitPoint]) => Unit
  ): Unit = TempFolder.use { folder =>
    val files = new MemoryFileStore
    Using.resource(new SnapshotRoom(files, folder)) { room =>
      (1 to 5).foreach(n => room.commit("key" -> Some(s"value $n")))
      versions.foreach(room.replace(_, "key" -> Some("late")))
      val points = (1L to 5L).map { v =>
        CommitPoint(Attempt(v), Some(ChangelogReader.readHeader(files, Attempt(v)).commitId))
      }
      body(files, new EarlierCommits(files), CommitPoint.Empty +: points)
    }
  }

  test("a commit leads on where each file names the one below it") {
    replaced() { (_, earlier, points) =>
      assert(points.forall(earlier.isOfOneState))
      assert(earlier.between(points(3), points(5)) == points.slice(3, 5))
      assert(earlier.between(points(0), points(5)) == points.slice(0, 5))
    }
  }

  test("a commit above a file that was replaced is not of one state, and does not lead on") {
    replaced(2L) { (_, earlier, points) =>
      assert(points.map(earlier.isOfOneState) == Seq(true, true, true, false, false, false))
      assert(earlier.between(points(4), points(5)).isEmpty)
    }
  }

  test("the newest file is named by nobody") {
    replaced(5L) { (_, earlier, points) =>
      assert(points.forall(earlier.isOfOneState))
      assert(earlier.between(points(3), points(5)) == points.slice(3, 5))
    }
  }

  test("what is below a changelog that is gone is not asked for") {
    replaced(2L) { (files, earlier, points) =>
      files.delete(Attempt(3L).changelog)
      assert(earlier.isOfOneState(points(4)))
      assert(earlier.between(points(4), points(5)) == Seq(points(4)))
    }
  }

  test("a changelog that is damaged tells nothing") {
    replaced() { (files, earlier, points) =>
      files.put(Attempt(2L).changelog, Array.fill[Byte](100)(1))
      assert(points.map(earlier.isOfOneState) == Seq(true, true, false, false, false, false))
    }
  }
}
