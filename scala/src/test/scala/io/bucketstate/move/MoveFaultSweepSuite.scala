package io.bucketstate.move

import scala.util.{Failure, Success, Try}

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
            val again = MoveRequest(MoveKind.Rewrite, target.toString, folder.resolve("x").toString)
            val read = Checkpoints.plan(spark, again).read()
            assert(
              read.stores.map(_.kept) == expected.stores.map(_.kept).map(asRecords(_, read)),
              what
            )
            ProviderHarness.deleteAll(target)
          }
        }
      }
    }

  /** Rows and records are added up differently: what is held against each other is how many there are. */
  private def asRecords(rows: RowSum, read: MoveReport): RowSum =
    rows.copy(sum = read.stores.head.kept.sum)
}

private object MoveFaultSweepSuite {
  val Faults: Seq[CallFault] = Seq(CallFault.Throws, CallFault.LosesReply, CallFault.Crashes)
}
