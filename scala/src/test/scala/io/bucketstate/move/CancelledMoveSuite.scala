package io.bucketstate.move

import java.nio.file.Path
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, TimeUnit}

import scala.concurrent.duration._
import scala.concurrent.{Await, ExecutionContext, Future}
import scala.jdk.CollectionConverters._
import scala.util.{Failure, Success, Try}

import org.apache.spark.scheduler.{SparkListener, SparkListenerJobStart}
import org.apache.spark.sql.SparkSession

import io.bucketstate.Checkpoints
import io.bucketstate.error.UnavailableException
import io.bucketstate.testkit.{Seeds, TidySuite}

/** Moves that somebody gives up: nothing is published, what was there is as it was, and jobs of others go on. */
class CancelledMoveSuite extends TidySuite with CountsToMove {
  import CancelledMoveSuite._
  import CountsToMove._
  import InPlaceFaultSweepSuite.{HasChecks, inPlace}

  for (step <- Seeds.oneOf(2, Steps, 1))
    test(s"in place, at the step '$step': the checkpoint is as it was, or was rewritten") {
      withPlan { (_, source, before, plan) =>
        val (outcome, isInTime) = cancelled(plan, step)
        if (isInTime) {
          assert(outcome.failed.get.isInstanceOf[UnavailableException], outcome)
          assert(withoutRuns(tree(source)) == withoutRuns(before))
          assert(plan.run().keys == Keys)
        }
        // Once a move is being committed it comes to its end, and says so.
        assert(isInTime == outcome.isFailure)
        assert(isInTime || step == "verify" || step == "publish", outcome)
        assert(tree(source).contains(s"commits/${Batch + 1}"))
      }
    }

  for (step <- Seeds.oneOf(2, Steps, 2))
    test(s"its thread is interrupted at the step '$step': the checkpoint is as it was, too") {
      withPlan { (spark, source, before, plan) =>
        val (outcome, isInterrupted) = interrupted(plan, step)
        outcome match {
          case Failure(failure) =>
            assert(failure.isInstanceOf[UnavailableException], failure)
            assert(failure.getMessage.contains("The move"), failure)
            // Whoever called it sees that somebody wants the thread to end.
            assert(isInterrupted)
            assert(withoutRuns(tree(source)) == withoutRuns(before))
            assert(plan.run().keys == Keys)
          case Success(report) =>
            // Once a move is being committed it comes to its end, and says so.
            assert(report.keys == Keys)
            assert(step == "verify" || step == "publish")
        }
        assert(tree(source).contains(s"commits/${Batch + 1}"))
        assert(spark.sparkContext.getJobTags().isEmpty)
      }
    }

  /** A plan for a rewrite in place, the checkpoint that it is of, and what was there before it. */
  private def withPlan(
      body: (SparkSession, Path, Map[String, Seq[Byte]], MovePlan) => Any
  ): Unit = {
    assume(HasChecks)
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      val before = tree(source)
      body(spark, source, before, Checkpoints.plan(spark, inPlace(source, 3)))
      ()
    }
  }

  test("into a folder: no query starts on what there is, and the same plan runs again") {
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      val target = folder.resolve("target")
      val plan = Checkpoints.plan(spark, toOther(source, target))
      val (outcome, isInTime) = cancelled(plan, "copy")
      assert(isInTime)
      assert(outcome.failed.get.isInstanceOf[UnavailableException])
      assert(!tree(target).keys.exists(_.startsWith("commits/")))
      assert(plan.run().keys == Keys)
    }
  }

  test("a cancelled move cancels all of its own jobs, and no others") {
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      val plan = Checkpoints.plan(spark, toOther(source, folder.resolve("target")))
      val tags = new ConcurrentLinkedQueue[String]
      spark.sparkContext.addSparkListener(new SparkListener {
        override def onJobStart(event: SparkListenerJobStart): Unit = {
          def of(name: String) = Option(event.properties.getProperty(name))
          // What came before it is the plan's.
          if (of("spark.job.description").contains("beside")) tags.clear()
          tags.add(of("spark.job.tags").getOrElse(""))
          ()
        }
      })
      implicit val context: ExecutionContext = ExecutionContext.global
      val beside = Future {
        spark.sparkContext.setJobDescription("beside")
        spark.sparkContext.parallelize(Seq(1), 1).map(waiting).collect().toSeq
      }
      while (spark.sparkContext.statusTracker.getActiveJobIds().isEmpty) Thread.onSpinWait()
      assert(cancelled(plan, "copy")._2)
      assert(plan.run().keys == Keys)
      // The one beside, and at least those that copy and verify. They are told of a little later.
      while (tags.size < 3) Thread.onSpinWait()
      Release.countDown()
      assert(Await.result(beside, 1.minute) == Seq(1))
      assert(tags.asScala.count(_.isEmpty) == 1)
      assert(tags.asScala.forall(tag => tag.isEmpty || tag.startsWith("bucketstate-move-")), tags)
      // What the thread does next is no part of the move.
      assert(spark.sparkContext.getJobTags().isEmpty)
    }
  }

  /** Runs it, and gives it up as soon as it has come to a step. Also whether that was in time. */
  private def cancelled(plan: MovePlan, step: String): (Try[MoveReport], Boolean) = {
    @volatile var outcome = Option.empty[Try[MoveReport]]
    val thread = new Thread(() => outcome = Some(Try(plan.run())), "move")
    thread.start()
    while (!hasCome(plan, step) && outcome.isEmpty) Thread.onSpinWait()
    var isInTime = plan.cancel()
    while (thread.isAlive) {
      isInTime = plan.cancel()
      thread.join(TimeUnit.MILLISECONDS.toMillis(10L))
    }
    (outcome.get, isInTime)
  }

  /** Runs it, and interrupts its thread once it has come to a step. Also whether the thread sees that afterwards. */
  private def interrupted(plan: MovePlan, step: String): (Try[MoveReport], Boolean) = {
    @volatile var outcome = Option.empty[(Try[MoveReport], Boolean)]
    val thread = new Thread(
      () => {
        // Try would let an interrupt pass.
        val report: Try[MoveReport] =
          try Success(plan.run())
          catch { case failure: Throwable => Failure(failure) }
        outcome = Some(report -> Thread.interrupted())
      },
      "move"
    )
    thread.start()
    while (!hasCome(plan, step) && outcome.isEmpty) Thread.onSpinWait()
    thread.interrupt()
    thread.join()
    outcome.get
  }

  /** On a busy machine a short step may have passed unseen. */
  private def hasCome(plan: MovePlan, step: String): Boolean = {
    val said = plan.progressJson
    Steps.drop(Steps.indexOf(step)).exists(name => said.contains(s""""step":"$name""""))
  }
}

private object CancelledMoveSuite {
  private val Steps = Seq("copy", "publish state", "verify", "publish")
  private val Release = new CountDownLatch(1)

  /** What a task does that lasts until the end of the test. */
  def waiting(n: Int): Int = {
    Release.await()
    n
  }

  def toOther(source: Path, target: Path): MoveRequest =
    MoveRequest(MoveKind.Rewrite, source.toString, target.toString, partitions = Some(3))

  /** Data files that nothing names may be left, and marks of writes. */
  def withoutRuns(tree: Map[String, Seq[Byte]]): Map[String, Seq[Byte]] =
    tree.filterNot { case (name, _) =>
      name.contains("/runs/") || name.endsWith(".tmp") || name.endsWith(".crc")
    }
}
