package io.bucketstate.move

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  EqualTo,
  Literal,
  UnsafeProjection
}
import org.apache.spark.sql.execution.streaming.state.{
  NoPrefixKeyStateEncoderSpec,
  StateStoreColFamilySchema
}
import org.apache.spark.sql.functions.{col, count, lit}
import org.apache.spark.sql.types.{LongType, StructType}

import io.bucketstate.Checkpoints
import io.bucketstate.error.InvalidException
import io.bucketstate.move.job.KeyCondition
import io.bucketstate.move.place.Deciding
import io.bucketstate.move.read.SourceFamily
import io.bucketstate.testkit.TidySuite

/** Keys that a move leaves out, by conditions as Spark understands them. */
class DeletedKeysSuite extends TidySuite with CountsToMove {

  test("a condition is what a filter would take, and what is no condition on one key is refused") {
    withSession() { (spark, folder) =>
      val source = folder.resolve("source")
      countInto(spark, source, "hdfs")
      def read(condition: String): MoveReport = {
        val request = MoveRequest(
          MoveKind.Import,
          source.toString,
          folder.resolve("target").toString,
          deleteKeys = Some(condition)
        )
        Checkpoints.plan(spark, request).read()
      }
      for (
        (condition, deleted) <- Seq(
          "value between 3 and 5" -> 3,
          "value + 1 not between 3 and 5" -> 37,
          "nullif(value, 3) is null" -> 1,
          "nullif(value between 3 and 5, false)" -> 3,
          "value = 1 and current_date() > date'2001-01-01' and now() > timestamp'2001-01-01'" -> 1,
          "exists(array(1, 2), n -> n = value)" -> 2
        )
      ) assert(read(condition).deletedKeys == deleted, condition)
      for (
        condition <- Seq(
          "value in (select 1)",
          "value = (select max(id) from range(3))",
          "rand() < 2"
        )
      ) {
        val refused = intercept[InvalidException](read(condition)).getMessage
        assert(refused.contains("cannot be asked of one key after the other"), refused)
      }
    }
  }

  test("a condition is on the grouping key, wherever a family's keys have it") {
    val grouping = new StructType().add("a", LongType).add("b", LongType)
    val value = new StructType().add("v", LongType)
    def keys(shape: Deciding, grouping: StructType): (StructType, Seq[Any] => Seq[Any]) =
      shape match {
        case Deciding.Within(Seq(0)) =>
          (new StructType().add("key", grouping).add("user", LongType), k => Seq(row(k), 9L))
        case Deciding.Within(Seq(1)) =>
          (new StructType().add("at", LongType).add("key", grouping), k => Seq(9L, row(k)))
        case Deciding.Within(_) =>
          val inner = new StructType().add("key", grouping).add("user", LongType)
          (
            new StructType().add("at", LongType).add("outer", inner),
            k => Seq(9L, row(Seq(row(k), 9L)))
          )
        case Deciding.AllButLast => (grouping.add("index", LongType), k => k :+ 9L)
        case _                   => (grouping, k => k)
      }
    val shapes = Seq(
      Deciding.Whole,
      Deciding.AllButLast,
      Deciding.Within(Seq(0)),
      Deciding.Within(Seq(1)),
      Deciding.Within(Seq(1, 0))
    )
    for {
      shape <- shapes
      columns <- Seq(1, 2)
    } {
      val grouped = StructType(grouping.take(columns))
      val (schema, keyOf) = keys(shape, grouped)
      val family = SourceFamily(
        StateStoreColFamilySchema("family", 0, schema, 0, value),
        NoPrefixKeyStateEncoderSpec(schema),
        multiValued = false,
        isInternal = false,
        shape
      )
      // On the last column: `a = 3`, or `b = 3`.
      val condition = EqualTo(BoundReference(columns - 1, LongType, nullable = true), Literal(3L))
      val holds = KeyCondition.of(condition, family)
      val project = UnsafeProjection.create(schema)
      def holdsOf(key: Long*): Boolean = holds(project(row(keyOf(key))))
      val others = Seq.fill(columns - 1)(3L)
      assert(holdsOf(others.map(_ => 8L) :+ 3L: _*), s"$shape, $columns")
      assert(!holdsOf(others :+ 8L: _*), s"$shape, $columns")
    }
  }

  private def row(values: Seq[Any]): InternalRow = InternalRow.fromSeq(values)

  test("of a query that lies by some of its columns the condition is on all of them") {
    withSession("spark.sql.streaming.statefulOperator.useStrictDistribution" -> "false") {
      (spark, folder) =>
        import spark.implicits._
        val source = folder.resolve("source")
        val input = memoryStream[Int](spark)
        val counted = input
          .toDF()
          .select((col("value") % 7).as("a"), col("value").as("b"))
          .repartition(col("b"))
          .groupBy("a", "b")
          .agg(count(lit(1)))
        val query = updates(counted, source)
        try addAndWait(input, query, 0 until 60)
        finally query.stop()
        val target = folder.resolve("target").toString
        val request = MoveRequest(
          MoveKind.Rewrite,
          source.toString,
          target,
          partitions = Some(5),
          deleteKeys = Some("a = 1")
        )
        assert(Checkpoints.plan(spark, request).run().deletedKeys == 9)
        val left = spark.read.format("bucketstate").load(target).select("key.a", "key.b")
        val expected = (0 until 60).map(b => (b % 7, b)).filter(_._1 != 1)
        assert(left.as[(Int, Int)].collect().toSet == expected.toSet)
    }
  }
}
