package io.bucketstate.move

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.{Files, Path, Paths}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.functions.{count, lit}

import io.bucketstate.Checkpoints
import io.bucketstate.error.{ConflictException, InvalidException}
import io.bucketstate.testkit.{CallFault, FaultyFileManager, TidySuite}

/** Moves, and the undoing of rewrites in place, while somebody else does something to the same checkpoint. */
class MoveRacesSuite extends TidySuite with CountsToMove {
  import CountsToMove._
  import InPlaceFaultSweepSuite._

  private val next = Batch + 1

  test("a plan that the query has gone past is refused, and takes nothing of the query's away") {
    assume(HasChecks)
    withSession(
      "spark.sql.streaming.minBatchesToRetain" -> "2",
      // Versions of the state stay for longer than Spark's logs.
      "spark.sql.streaming.ratioExtraSpaceAllowedInCheckpoint" -> "1000",
      "spark.sql.streaming.stateStore.bucketed.snapshot.mode" -> "sync",
      "spark.sql.streaming.stateStore.bucketed.snapshot.maxVersions" -> "1"
    ) { (spark, folder) =>
      val source = folder.resolve("source")
      keyByBatch(spark, source, batches = next)
      val plan = Checkpoints.plan(spark, inPlace(source, 3))
      keyByBatch(spark, source, batches = 8)
      // The query had a batch of the rewrite's number, whose entry is deleted and whose snapshot is there.
      assert(!Files.exists(source.resolve(s"offsets/$next")))
      val before = tree(source)
      assert(before.keys.exists(_.endsWith(s"/${next + 1}.manifest")), before.keys.toSeq.sorted)
      val refused = intercept[ConflictException](plan.run()).getMessage
      assert(refused.contains("have changed since the rewrite began"), refused)
      assert(
        tree(source).filterNot { case (name, _) => name.contains("/runs/") } ==
          before.filterNot { case (name, _) => name.contains("/runs/") }
      )
      assert(before.forall { case (name, bytes) => tree(source).get(name).contains(bytes) })
      keyByBatch(spark, source, batches = 9)
    }
  }

  test("of two at once the later one goes on, and the earlier one takes back nothing of it") {
    for (
      (call, where) <- Seq(
        s"create $next" -> "plans",
        s"exists ${next + 1}.manifest" -> "publishes"
      )
    )
      faulty { (spark, source, script) =>
        var second: Option[MoveReport] = None
        script.beforeNext(call) {
          second = Some(Checkpoints.plan(spark, inPlace(source, 3)).run())
        }
        val first = Checkpoints.plan(spark, inPlace(source, 3))
        intercept[ConflictException](first.run())
        assert(second.exists(_.keys == Keys), where)
        assert(Files.exists(source.resolve(s"commits/$next")), where)
        assert(readAgain(spark, source) == second.get.stores.map(_.kept), where)
        assert(!Files.exists(source.resolve(InPlaceMark.File)), where)
      }
  }

  test("one that is refused takes nothing back of one that is being made") {
    faulty { (spark, source, script) =>
      var refused = ""
      script.beforeNext(s"create $next") {
        // As many as there are: nothing would show Spark that the batch is no batch of the query's.
        val plan = Checkpoints.plan(spark, inPlace(source, 2))
        refused = intercept[InvalidException](plan.run()).getMessage
      }
      assert(Checkpoints.plan(spark, inPlace(source, 3)).run().keys == Keys)
      assert(refused.contains("in 2 partitions already"), refused)
    }
  }

  test("of two into one folder the later one goes on, and the earlier one publishes nothing") {
    for {
      call <- Seq(s"exists ${Batch + 1}.manifest", s"create $Batch", "publish move.json")
      verify <- Seq(true, false)
    }
      faulty { (spark, source, script) =>
        val target = source.resolveSibling("target")
        val request = MoveRequest(
          MoveKind.Rewrite,
          source.toString,
          target.toString,
          partitions = Some(3),
          verifyFully = verify
        )
        var second: Option[MoveReport] = None
        script.beforeNext(call) {
          second = Some(Checkpoints.plan(spark, request).run())
        }
        val failure = intercept[ConflictException](Checkpoints.plan(spark, request).run())
        assert(second.exists(_.keys == Keys), s"$call: $failure")
        assert(isWhole(target), call)
        assert(readAgain(spark, target) == second.get.stores.map(_.kept), call)
      }
  }

  test("of two into the folder of one that was given up, what has come to its end stays") {
    faulty { (spark, source, script) =>
      val target = source.resolveSibling("target")
      // What one leaves that is killed early.
      inFolder(spark, target)(Marker.block(_))
      val request = toTarget(source, target)
      var second: Option[MoveReport] = None
      script.beforeNext("publish move.json") {
        second = Some(Checkpoints.plan(spark, request).run())
      }
      val plan = Checkpoints.plan(spark, request)
      val refused = intercept[ConflictException](plan.run()).getMessage
      assert(refused.contains("was begun since"), refused)
      assert(isWhole(target))
      assert(readAgain(spark, target) == second.get.stores.map(_.kept))
    }
  }

  test("of two into one folder, no query starts where the later one began at the last file") {
    faulty { (spark, source, script) =>
      val target = source.resolveSibling("target")
      val request = toTarget(source, target)
      // Of the two files of that name, a batch in each of the logs, the second one is the commit.
      script.beforeNext(s"create $Batch") {
        script.beforeNext(s"create $Batch") {
          script.beforeNext("create metadata") {
            val marker = """{"format": 1, "status": "begun", "token": "another"}"""
            inFolder(spark, target)(_.write(Marker.File, marker.getBytes(UTF_8)))
          }
        }
      }
      val plan = Checkpoints.plan(spark, request)
      val refused = intercept[ConflictException](plan.run()).getMessage
      assert(refused.contains("was begun since"), refused)
      assert(!isWhole(target))
      val again = Checkpoints.plan(spark, request).run()
      assert(again.keys == Keys)
      assert(readAgain(spark, target) == again.stores.map(_.kept))
    }
  }

  test("of two exports into one folder the earlier one replaces nothing of the later one's") {
    faulty { (spark, source, script) =>
      val target = source.resolveSibling("target")
      def exported(partitions: Int): MoveReport = {
        val request =
          MoveRequest(
            MoveKind.Export,
            source.toString,
            target.toString,
            to = "hdfs",
            partitions = Some(partitions)
          )
        Checkpoints.plan(spark, request).run()
      }
      var second: Option[MoveReport] = None
      script.beforeNext(s"create ${Batch + 1}.snapshot") {
        second = Some(exported(5))
      }
      val refused = intercept[ConflictException](exported(3)).getMessage
      assert(refused.contains("was begun since"), refused)
      val back = MoveRequest(MoveKind.Import, target.toString, s"$target-x")
      val read = Checkpoints.plan(spark, back).read()
      assert(read.stores.map(_.kept) == second.get.stores.map(_.kept))
    }
  }

  test("one that was overtaken before it planned leaves no plan") {
    assume(HasChecks)
    faulty { (spark, source, script) =>
      script.beforeNext(s"publish $next") {
        inFolder(spark, source)(InPlaceMark(next.toLong, 3, "another").write(_, 0L))
      }
      val refused = intercept[ConflictException] {
        Checkpoints.plan(spark, inPlace(source, 3)).run()
      }
      assert(refused.getMessage.contains("was begun since"), refused.getMessage)
      assert(!Files.exists(source.resolve(s"offsets/$next")))
      assert(Checkpoints.plan(spark, inPlace(source, 3)).run().keys == Keys)
    }
  }

  test("a rewrite that is committed stays, also where its mark cannot be removed") {
    for (fault <- Seq(CallFault.Throws, CallFault.LosesReply)) faulty { (spark, source, script) =>
      script.beforeNext(s"publish $next") {
        // The second one of that name is the commit.
        script.beforeNext(s"publish $next")(script.failNext("delete in-place.json", fault))
      }
      assert(Checkpoints.plan(spark, inPlace(source, 3)).run().keys == Keys)
      assert(Files.exists(source.resolve(s"commits/$next")))
      script.heal()
      assert(Checkpoints.undo(spark, source.toString).batch == Batch)
    }
  }

  test("a batch that is planned while a rewrite is undone stays, and the rewrite with it") {
    faulty { (spark, source, script) =>
      Checkpoints.plan(spark, inPlace(source, 3)).run()
      val before = withoutSums(source)
      val later = source.resolve(s"offsets/${next + 1}")
      script.beforeNext(s"delete $next") {
        Files.copy(source.resolve(s"offsets/$next"), later)
        ()
      }
      val refused = intercept[ConflictException](Checkpoints.undo(spark, source.toString))
      assert(refused.getMessage.contains(s"Batch ${next + 1}"), refused.getMessage)
      Files.delete(later)
      assert(withoutSums(source) == before)
      assert(Checkpoints.undo(spark, source.toString).batch == Batch)
    }
  }

  test("a savepoint that is created while a rewrite is undone holds") {
    faulty { (spark, source, script) =>
      Checkpoints.plan(spark, inPlace(source, 3)).run()
      val before = withoutSums(source)
      val savepoint = "before-release.0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d.json" // of a later batch
      val target = source.resolve("_bucketstate/savepoints").resolve(savepoint)
      script.beforeNext(s"delete $next") {
        Files.createDirectories(target.getParent)
        Files.copy(Paths.get("tests/golden/v1/savepoints").resolve(savepoint), target)
        ()
      }
      val refused = intercept[InvalidException](Checkpoints.undo(spark, source.toString))
      assert(refused.getMessage.contains("'before-release'"), refused.getMessage)
      Files.delete(target)
      Files.delete(target.getParent)
      assert(withoutSums(source) == before)
    }
  }

  test("a query that runs in the application is neither rewritten in place nor taken back") {
    assume(HasChecks)
    withSession() { (spark, folder) =>
      import spark.implicits._
      val source = folder.resolve("source")
      val input = memoryStream[Long](spark)
      def started() = updates(input.toDF().groupBy("value").agg(count(lit(1))), source)
      val first = started()
      try {
        addAndWait(input, first, 0L until 30L)
        val refused = intercept[InvalidException] {
          Checkpoints.plan(spark, inPlace(source, 3)).run()
        }
        assert(refused.getMessage.contains("The query runs in this application"))
      } finally first.stop()
      Checkpoints.plan(spark, inPlace(source, 3)).run()
      val second = started()
      try {
        second.processAllAvailable()
        val before = withoutSums(source)
        val refused = intercept[ConflictException](Checkpoints.undo(spark, source.toString))
        assert(refused.getMessage.contains("runs in this application"))
        assert(withoutSums(source) == before)
        addAndWait(input, second, 0L until 30L)
      } finally second.stop()
    }
  }

  /** A checkpoint whose calls follow a script. */
  private def faulty(body: (SparkSession, Path, FaultyFileManager.Script) => Unit): Unit = {
    assume(HasChecks)
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      spark.conf.set(FileManager, classOf[FaultyFileManager].getName)
      FaultyFileManager.script(folder)(body(spark, source, _))
    }
  }

  private def toTarget(source: Path, target: Path): MoveRequest =
    MoveRequest(MoveKind.Rewrite, source.toString, target.toString, partitions = Some(3))

  private def readAgain(spark: SparkSession, source: Path) =
    Checkpoints
      .plan(spark, MoveRequest(MoveKind.Rewrite, source.toString, s"$source-x"))
      .read()
      .stores
      .map(_.kept)
}
