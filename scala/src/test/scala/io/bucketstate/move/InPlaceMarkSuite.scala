package io.bucketstate.move

import java.nio.file.Files

import org.apache.spark.sql.functions.{count, lit}

import io.bucketstate.Checkpoints
import io.bucketstate.error.InvalidException
import io.bucketstate.move.read.SourceQuery
import io.bucketstate.testkit.TidySuite

/** What a rewrite in place that did not end has left, when its query goes on all the same. */
class InPlaceMarkSuite extends TidySuite with CountsToMove {
  import CountsToMove._
  import InPlaceFaultSweepSuite._

  test("a mark that the query has long gone past is nothing, however short Spark's logs are") {
    assume(HasChecks)
    withSession("spark.sql.streaming.minBatchesToRetain" -> "2") { (spark, folder) =>
      val source = folder.resolve("source")
      keyByBatch(spark, source, batches = 6)
      def mark(): Unit = inFolder(spark, source)(InPlaceMark(2L, 3, "of old").write(_, 0L))
      assert(!Files.exists(source.resolve("offsets/2")))
      mark()
      val undo = intercept[InvalidException](Checkpoints.undo(spark, source.toString))
      assert(undo.getMessage.contains("was not rewritten in place"), undo.getMessage)
      assert(Checkpoints.plan(spark, inPlace(source, 3)).run().keys == 6)
      assert(!Files.exists(source.resolve(InPlaceMark.File)))
      mark()
      assert(Checkpoints.undo(spark, source.toString).batch == 5)
      mark()
      assert(Checkpoints.plan(spark, inPlace(source, 4)).run().keys == 6)
    }
  }

  test("of a query that has gone on meanwhile nothing is taken back but the mark") {
    assume(HasChecks)
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      keyByBatch(spark, source, batches = 2)
      inFolder(spark, source) { checkpoint =>
        val rewrite = new InPlace(new SourceQuery(spark, checkpoint, 1L, None), 3)
        rewrite.begin(0L)
        keyByBatch(spark, source, batches = 3)
        val there = tree(source) - InPlaceMark.File
        assert(there.contains("offsets/2"))
        assert(!rewrite.takeBackUnplanned())
        assert(tree(source) == there)
      }
    }
  }

  test("operators without keys are as before, byte by byte") {
    assume(HasChecks)
    withSession() { (spark, folder) =>
      import spark.implicits._
      val source = folder.resolve("source")
      val input = memoryStream[Long](spark)
      val counted = input.toDF().dropDuplicates("value").groupBy().agg(count(lit(1)))
      val query = updates(counted, source)
      try addAndWait(input, query, 0L until 30L)
      finally query.stop()
      val before = withoutSums(source)
      Checkpoints.plan(spark, inPlace(source, 3)).run()
      Checkpoints.undo(spark, source.toString)
      assert(withoutSums(source) == before)
    }
  }
}
