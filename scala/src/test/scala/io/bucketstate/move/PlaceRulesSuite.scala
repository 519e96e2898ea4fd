package io.bucketstate.move

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BoundReference, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.physical.HashPartitioning
import org.apache.spark.sql.execution.streaming.state.StoreMaintenance
import org.apache.spark.sql.functions.{col, count, lit}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.bucketstate.Checkpoints
import io.bucketstate.error.InvalidException
import io.bucketstate.move.place.{Deciding, PlaceRules, Placer}
import io.bucketstate.testkit.TidySuite

class PlaceRulesSuite extends TidySuite with CountsToMove {
  private val grouping = new StructType().add("k", LongType).add("s", StringType)
  private val row = InternalRow(5L, UTF8String.fromString("name"))

  /** Where Spark puts the rows that have these grouping columns. */
  private def expected(partitions: Int): Int = {
    val fields = grouping.fields.toSeq.zipWithIndex.map { case (f, i) =>
      BoundReference(i, f.dataType, f.nullable)
    }
    val place = HashPartitioning(fields, partitions).partitionIdExpression
    UnsafeProjection.create(Seq(place)).apply(row).getInt(0)
  }

  private def placed(deciding: Deciding, key: StructType, values: InternalRow): Seq[Int] = {
    val bytes = UnsafeProjection.create(key).apply(values)
    Seq(2, 3, 7, 200).map(new Placer(deciding, key, _)(bytes))
  }

  private def check(
      operator: String,
      store: String,
      family: String,
      key: StructType,
      values: InternalRow,
      maps: Set[String] = Set.empty
  ): Unit = {
    val rule = PlaceRules.of(operator, store, family, key, maps).get
    assert(
      placed(rule, key, values) == Seq(2, 3, 7, 200).map(expected),
      s"$operator $store $family"
    )
    ()
  }

  private val behind = grouping.add("more", LongType)
  private val rowBehind = InternalRow(5L, UTF8String.fromString("name"), 77L)

  test("each operator's keys lie where their grouping columns do") {
    for (
      op <- Seq(
        "stateStoreSave",
        "dedupe",
        "dedupeWithinWatermark",
        "flatMapGroupsWithState",
        "applyInPandasWithState"
      )
    ) check(op, "default", "default", grouping, row)
    check("sessionWindowStateStoreSaveExec", "default", "default", behind, rowBehind)
    for (side <- Seq("left", "right")) {
      check("symmetricHashJoin", s"$side-keyToNumValues", "default", grouping, row)
      check("symmetricHashJoin", s"$side-keyWithIndexToValue", "default", behind, rowBehind)
      for (family <- Seq("keyWithIndexToValue", "keyWithTsToValues", "tsWithKey"))
        check("symmetricHashJoin", "default", s"$side-$family", behind, rowBehind)
    }
  }

  test("the families of transformWithState lie by the grouping key within their keys") {
    val time = new StructType().add("expirationMs", LongType)
    val inner = new StructType().add("key", grouping)
    val map = inner.add("userKey", new StructType().add("u", LongType))
    val user = InternalRow(9L)
    for (op <- PlaceRules.TransformWithState) {
      def at(family: String, key: StructType, values: InternalRow) =
        check(op, "default", family, key, values, Set("m"))
      at("value", grouping, row)
      at("$min_list", grouping, row)
      at("$count_list", grouping, row)
      at("$rowCounter_list", grouping, row)
      at("m", map, InternalRow(row, user))
      at("$ttl_value", time.add("elementKey", grouping), InternalRow(1L, row))
      at("$ttl_m", time.add("elementKey", map), InternalRow(1L, InternalRow(row, user)))
      at(
        "$eventTimers_keyToTimestamp",
        inner.add("expiryTimestampMs", LongType),
        InternalRow(row, 1L)
      )
      at(
        "$procTimers_timestampToKey",
        new StructType().add("expiryTimestampMs", LongType).add("key", grouping),
        InternalRow(1L, row)
      )
    }
  }

  test("what has no key lies in partition 0, and what is not known has no rule") {
    val none = new StructType()
    assert(
      PlaceRules
        .of("stateStoreSave", "default", "default", none, Set.empty)
        .contains(Deciding.Nothing)
    )
    assert(
      PlaceRules
        .of("globalLimit", "default", "default", new StructType().add("n", NullType), Set.empty)
        .contains(Deciding.Nothing)
    )
    assert(
      new Placer(Deciding.Nothing, none, 5)(UnsafeProjection.create(none).apply(InternalRow())) == 0
    )
    assert(PlaceRules.of("somethingElse", "default", "default", grouping, Set.empty).isEmpty)
    assert(PlaceRules.of("symmetricHashJoin", "default", "left-other", grouping, Set.empty).isEmpty)
  }

  private val lax = "spark.sql.streaming.statefulOperator.useStrictDistribution" -> "false"

  /** A query as one that was begun before Spark 3.3, whose keys lie by both of their columns. */
  private def pairs(values: DataFrame): DataFrame = values
    .select((col("value") % 7).as("a"), col("value").as("b"))
    .groupBy("a", "b")
    .agg(count(lit(1)))

  /** A value whose key lies by its second column alone, too, in 2 partitions, and would not in 5. */
  private def valueThatFitsBoth: Int = {
    val key = new StructType().add("a", IntegerType).add("b", IntegerType)
    val project = UnsafeProjection.create(key)
    (0 until 1000).find { value =>
      val bytes = project(InternalRow(value % 7, value))
      def differs(partitions: Int): Boolean = {
        val second = Deciding.Columns(Deciding.Whole, Seq(1))
        new Placer(Deciding.Whole, key, partitions)(bytes) !=
          new Placer(second, key, partitions)(bytes)
      }
      !differs(2) && differs(5)
    }.get
  }

  test("a key of a query of old that lies by other columns, too, does not tell where it goes") {
    withSession(lax) { (spark, folder) =>
      import spark.implicits._
      val source = folder.resolve("source")
      val input = memoryStream[Int](spark)
      def batch(values: Seq[Int]): Unit = {
        val query = updates(pairs(input.toDF()), source)
        try addAndWait(input, query, values)
        finally query.stop()
        StoreMaintenance.stop()
      }
      def rewritten(name: String, partitions: Int): MoveReport = {
        val target = folder.resolve(name).toString
        val request =
          MoveRequest(MoveKind.Rewrite, source.toString, target, partitions = Some(partitions))
        Checkpoints.plan(spark, request).run()
      }
      batch(Seq(valueThatFitsBoth))
      val refused = intercept[InvalidException](rewritten("refused", 5)).getMessage
      assert(refused.contains("there are too few of them to tell"), refused)
      assert(refused.contains("Let the query run until it has more keys"), refused)
      // Each key stays, or all of them come to the same place in any case.
      assert(rewritten("same", 2).keys == 1)
      assert(rewritten("one", 1).keys == 1)
      batch((0 until 60).filter(_ != valueThatFitsBoth))
      assert(rewritten("wider", 5).keys >= 60)
    }
  }
}
