package io.bucketstate.move

import java.nio.file.Path

import scala.util.{Failure, Success, Try}

import org.apache.spark.sql.SparkSession

import io.bucketstate.Checkpoints
import io.bucketstate.error.BucketstateException
import io.bucketstate.move.job.RowSum
import io.bucketstate.testkit.{CallFault, FaultyFileManager, ProviderHarness, Seeds, TidySuite}

/**
 * A move of which each call of a file system goes wrong once: it fails in the project's own words and leaves nothing that a
 * query would start with, or it is made; the source stays as it was; and the same move, begun again, is made.
 */
class MoveFaultSweepSuite extends TidySuite with CountsToMove {
  import CountsToMove._
  import MoveFaultSweepSuite._

  for (provider <- Seq("hdfs", "rocksdb").take(Seeds.of(1, 2)))
    test(s"each call goes wrong once: from $provider") {
      withSession() { (spark, folder) =>
        val source = folder.resolve("source")
        countInto(spark, source, provider)
        val before = tree(source)
        spark.conf.set(FileManager, classOf[FaultyFileManager].getName)
        FaultyFileManager.script(folder) { script =>
          def plan(number: Int): MovePlan = Checkpoints.plan(
            spark,
            MoveRequest(
              MoveKind.Import,
              source.toString,
              folder.resolve(s"target-$number").toString,
              partitions = Some(3)
            )
          )
          val expected = plan(0).run()
          val calls = script.calls.size
          assert(expected.keys == Keys)
          // What the move that nothing goes wrong with has made, added up as records: rows are added up differently.
          val wanted = recordsOf(spark, folder, number = 0)
          assert(counted(wanted) == counted(expected.stores.map(_.kept)))
          var number = 0
          for {
            call <- Seeds.oneOf(30, 1 to calls, 7)
            fault <- Faults
          } {
            number += 1
            val began = script.calls.size
            script.failAt(began + call, fault)
            val outcome = Try(plan(number).run())
            script.heal()
            val target = folder.resolve(s"target-$number")
            val what = s"call $call of $calls, $fault"
            assert(tree(source) == before, what)
            outcome match {
              case Success(report)                  => assert(report.keys == Keys, what)
              case Failure(_: BucketstateException) =>
                // The last files may be there where a reply was lost: then all is there.
                if (!isWhole(target)) {
                  assert(plan(number).run().keys == Keys, what)
                }
              case Failure(other) => fail(what, other)
            }
            assert(recordsOf(spark, folder, number) == wanted, what)
            ProviderHarness.deleteAll(target)
          }
        }
      }
    }

  /** What each store of a target adds up to, record by record. */
  private def recordsOf(spark: SparkSession, folder: Path, number: Int): Seq[RowSum] = {
    val target = folder.resolve(s"target-$number").toString
    val again = MoveRequest(MoveKind.Rewrite, target, folder.resolve("x").toString)
    Checkpoints.plan(spark, again).read().stores.map(_.kept)
  }

  private def counted(sums: Seq[RowSum]): Seq[(Long, Long)] = sums.map(s => s.keys -> s.values)
}

private object MoveFaultSweepSuite {
  val Faults: Seq[CallFault] = Seq(CallFault.Throws, CallFault.LosesReply, CallFault.Crashes)
}
