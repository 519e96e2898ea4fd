package io.bucketstate.move

import java.nio.file.{Files, Path}
import java.util.UUID

import scala.util.Using

import org.apache.spark.sql.execution.streaming.state.StoreMaintenance

import io.bucketstate.Checkpoints
import io.bucketstate.checkpoint.changelog.{ChangelogReader, ChangelogWriter}
import io.bucketstate.checkpoint.io.{Attempt, NioFileStore}
import io.bucketstate.error.InvalidException
import io.bucketstate.testkit.{Changes, TidySuite, Write}

/**
 * A rewrite in place behind a version that was made more than once, where storage refuses to replace a file: what those
 * attempts have left is in nobody's way, and nothing else is taken for it.
 */
class EmptyChangelogsSuite extends TidySuite with CountsToMove {
  import CountsToMove._
  import InPlaceFaultSweepSuite._

  test("a query goes on right over empty changelogs, after the rewrite and after its undoing") {
    assume(HasChecks)
    withSession() { (spark, folder) =>
      import spark.implicits._
      val input = memoryStream[Long](spark)
      val counts = input.toDF().groupBy("value").count()
      def goOn(values: Seq[Long]): Map[Long, Long] = {
        val query = start(counts, "counts", folder)
        try addAndWait(input, query, values)
        finally query.stop()
        StoreMaintenance.stop()
        spark.table("counts").collect().map(row => row.getLong(0) -> row.getLong(1)).toMap
      }
      val _ = goOn(0L until 30L)
      val source = folder.resolve("counts")
      // Of two starts, of which one came to one store only.
      val left = Seq((0, 2L), (1, 2L), (0, 3L)).map { case (store, version) =>
        empty(storeOf(source, store), last = 1L, version)
      }
      val before = withoutSums(source)
      assert(Checkpoints.plan(spark, inPlace(source, 3)).run().keys == 30)
      assert(Checkpoints.undo(spark, source.toString).batch == 0)
      assert(
        before.removedAll(left.take(2).map(source.relativize(_).toString)) == withoutSums(source)
      )

      left.take(2).foreach(file => assert(empty(file.getParent, last = 1L, 2L) == file))
      assert(Checkpoints.plan(spark, inPlace(source, 3)).run().keys == 30)
      assert(
        goOn(10L until 40L) ==
          (0L until 40L).map(k => k -> (if (k < 10 || k >= 30) 1L else 2L)).toMap
      )
    }
  }

  test("a later changelog that has changes, that has an id, or that cannot be read is refused") {
    assume(HasChecks)
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      val store = storeOf(source, 1)
      val last = Batch + 1L
      val left = empty(store, last, last + 1)
      assert(Checkpoints.plan(spark, inPlace(source, 3)).isPossible)
      val change = Write(0, "key".getBytes.toSeq, Some("value".getBytes.toSeq))
      def requireRefused(file: Path): Unit = {
        val before = tree(source)
        val refused =
          intercept[InvalidException](Checkpoints.plan(spark, inPlace(source, 3)).run()).getMessage
        assert(refused.contains(s"${source.relativize(file)} is of a later batch than $Batch"))
        assert(tree(source) == before)
      }
      val changed = later(store, last, last + 2, Seq(change))
      requireRefused(changed)
      Files.delete(changed)
      val named = later(store, last, last + 1, Nil, Some(UUID.randomUUID().toString))
      requireRefused(named)
      Files.delete(named)
      Files.write(left, Files.readAllBytes(left).dropRight(1))
      requireRefused(left)
    }
  }

  private def storeOf(source: Path, partition: Int): Path =
    source.resolve("state").resolve("0").resolve(s"$partition")

  /** What an attempt creates behind the last version before it replaces that. */
  private def empty(store: Path, last: Long, version: Long): Path =
    later(store, last, version, Nil)

  /** A changelog behind a store's last version. */
  private def later(
      store: Path,
      last: Long,
      version: Long,
      writes: Seq[Write],
      id: Option[String] = None
  ): Path = {
    val files = new NioFileStore(store)
    val (header, families) = Using.resource(ChangelogReader.open(files, Attempt(last))) { reader =>
      reader.header -> reader.families
    }
    val attempt = Attempt(version, id)
    Using.resource(new ChangelogWriter) { writer =>
      val changes =
        families.map(f => Changes.of(f.descriptor, header.numBuckets, writes, f.keyCount))
      val written = header.copy(
        version = version,
        commitId = UUID.randomUUID(),
        checkpointId = id,
        baseId = Some(header.commitId.toString)
      )
      val bytes = writer.encode(written, Changes.set(changes))
      files.write(attempt.changelog)(bytes.writeTo)
    }
    store.resolve(attempt.changelog)
  }
}
