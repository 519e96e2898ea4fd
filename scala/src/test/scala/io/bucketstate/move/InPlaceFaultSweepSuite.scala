package io.bucketstate.move

import java.nio.file.{Files, Path}

import scala.util.{Failure, Success, Try}

import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.SparkSession

import io.bucketstate.Checkpoints
import io.bucketstate.error.{BucketstateException, InvalidException}
import io.bucketstate.testkit.{FaultyFileManager, ProviderHarness, Seeds, TidySuite}

/**
 * A rewrite in place of which each call of a file system goes wrong once, and its undoing: afterwards the checkpoint is as it
 * was, or is rewritten, or no query starts on it; never anything else, and the same command comes to its end.
 */
class InPlaceFaultSweepSuite extends TidySuite with CountsToMove {
  import InPlaceFaultSweepSuite._
  import CountsToMove._

  for {
    ids <- Seq(false, true).take(Seeds.of(1, 2))
    partitions <- Seq(3, 1).take(Seeds.of(1, 2))
  }
    test(s"each call goes wrong once: to $partitions partitions, ids $ids") {
      assume(HasChecks)
      sweep(ids, partitions)
    }

  test("what cannot be rewritten in place is refused, and nothing is written") {
    assume(HasChecks)
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      val before = tree(source)
      def refused(partitions: Int): String =
        intercept[InvalidException](
          Checkpoints.plan(spark, inPlace(source, partitions)).run()
        ).getMessage
      assert(refused(2).contains("in 2 partitions already"))
      val undo = intercept[InvalidException](Checkpoints.undo(spark, source.toString))
      assert(undo.getMessage.contains("was not rewritten in place"))
      assert(tree(source) == before)
      Files.delete(source.resolve(s"commits/$Batch"))
      assert(refused(3).contains(s"Batch $Batch was planned and is not committed"))
      assert(!Files.exists(source.resolve("_bucketstate")))
    }
  }

  private def sweep(ids: Boolean, partitions: Int): Unit =
    withSession((FormatSetting, if (ids) "2" else "1")) { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source)
      val before = tree(source)
      spark.conf.set(FileManager, classOf[FaultyFileManager].getName)
      FaultyFileManager.script(folder) { script =>
        val first = copyOf(source, folder.resolve("0"))
        val expected = Checkpoints.plan(spark, inPlace(first, partitions)).run()
        assert(expected.keys == Keys)
        val calls = script.calls.size
        check(spark, first, expected)
        val undone = script.calls.size
        Checkpoints.undo(spark, first.toString)
        assert(tree(first) == before)
        val undoCalls = script.calls.size - undone
        var number = 0
        for {
          (isUndo, call) <- Seeds.oneOf(40, 1 to calls, 7).map(false -> _) ++
            Seeds.oneOf(24, 1 to undoCalls, 7).map(true -> _)
          fault <- MoveFaultSweepSuite.Faults
        } {
          number += 1
          val root = copyOf(source, folder.resolve(number.toString))
          def run(): MoveReport = Checkpoints.plan(spark, inPlace(root, partitions)).run()
          if (isUndo) run()
          script.failAt(script.calls.size + call, fault)
          val outcome = Try(if (isUndo) {
            Checkpoints.undo(spark, root.toString); ()
          } else { run(); () })
          script.heal()
          val what = s"${if (isUndo) "undo, " else ""}call $call, $fault"
          outcome match {
            case Failure(_: BucketstateException) | Success(()) => ()
            case Failure(other)                                 => fail(what, other)
          }
          val now = tree(root)
          val isPlanned = now.contains(s"offsets/${Batch + 1}")
          val isCommitted = now.contains(s"commits/${Batch + 1}")
          // A query starts with both or with none of them, and with nothing else amiss.
          assert(isPlanned || !isCommitted, what)
          if (!isPlanned) {
            val changed = before.filter { case (name, of) => !now.get(name).contains(of) }.keySet
            assert(changed.isEmpty, what)
            assert(!now.keys.exists(manifestOf(Batch + 2)), what)
          }
          if (isPlanned && isCommitted) check(spark, root, expected)
          if (!isUndo && !isCommitted) {
            assert(run().keys == Keys, what)
            check(spark, root, expected)
          }
          if (tree(root).contains(s"offsets/${Batch + 1}") || !isUndo) {
            Checkpoints.undo(spark, root.toString)
          }
          Marks.foreach(mark => assert(!Files.exists(root.resolve(mark)) || isUndo, what))
          val left = tree(root).filter { case (name, _) => isLeftover(name) }
          assert((tree(root) -- left.keys) == (before -- left.keys), what)
          ProviderHarness.deleteAll(root)
        }
      }
    }

  /** What nothing names: data files, and writes that were cut off. */
  private def isLeftover(file: String): Boolean =
    file.contains("/runs/") || file.endsWith(".tmp") || Marks(file)

  private def manifestOf(version: Int)(file: String): Boolean =
    file.contains(s"/$version") && file.endsWith(".manifest")

  private def check(spark: SparkSession, root: Path, expected: MoveReport): Unit = {
    val again = MoveRequest(MoveKind.Rewrite, root.toString, s"$root-x")
    val plan = Checkpoints.plan(spark, again)
    assert(plan.batch == Batch + 1)
    assert(plan.read().stores.map(_.kept) == expected.stores.map(_.kept))
  }

  private def copyOf(source: Path, target: Path): Path = {
    tree(source).foreach { case (name, bytes) =>
      val file = target.resolve(name)
      Files.createDirectories(file.getParent)
      Files.write(file, bytes.toArray)
    }
    target
  }
}

private object InPlaceFaultSweepSuite {
  val FormatSetting = "spark.sql.streaming.stateStore.checkpointFormatVersion"
  val Marks: Set[String] = Set(InPlaceMark.File)
  val HasChecks: Boolean = !SPARK_VERSION.startsWith("4.0.") && !SPARK_VERSION.startsWith("4.1.")

  def inPlace(root: Path, partitions: Int): MoveRequest = MoveRequest(
    MoveKind.Rewrite,
    root.toString,
    "",
    partitions = Some(partitions),
    inPlace = true
  )
}
